package analyze

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"millrace/dtype"
	"millrace/tfbridge"
)

// # Leaked labels
//
// The question: a column may hold the label in other words, such as the name of a class next to its
// number. A model then learns that column, and nothing else. Which columns of a table do that?
//
// The answer: column a determines column b if there are as many different pairs of their values as
// there are different values of a. That is counted for all pairs of scalars. Values that hardly ever come
// twice determine everything by chance, so they do not count. Each goroutine looks at its first
// examples only, because a pair costs a lookup.

const (
	mostLeakColumns  = 32     // scalars that are looked at
	mostLeakValues   = 1024   // different values of a column, and of a pair
	mostLeakExamples = 20_000 // examples that a goroutine looks at
	leastRepeats     = 4      // how often a value comes, on average
)

// Determination says that each value of one scalar comes with one value of another. Its JSON keys stay
// as they are.
type Determination struct {
	By     string `json:"by"`
	Of     string `json:"of"`
	Values int64  `json:"values"` // different values of By
	Back   bool   `json:"back"`   // whether Of determines By, too
}

// String says what that means, after the name of By.
func (d Determination) String() string {
	each := fmt.Sprintf("each of its %d values comes with one value of %s", d.Values, d.Of)
	if d.Back {
		each += ", and the other way round"
	}
	return each + ": if one of them is the label, the other one leaks it"
}

// leaks collects the pairs. One goroutine at a time uses it.
type leaks struct {
	columns  []known
	examples int64
	values   []map[uint64]struct{} // different values of each column; nil: too many
	pairs    []map[uint64]struct{} // different pairs, in the order of [leaks.each]
}

func newLeaks(specs []known) *leaks {
	l := &leaks{}
	for _, s := range specs {
		if len(s.shape) == 0 && s.count == "" && len(l.columns) < mostLeakColumns {
			l.columns = append(l.columns, s)
			l.values = append(l.values, map[uint64]struct{}{})
		}
	}
	l.each(func(int, int, int) { l.pairs = append(l.pairs, map[uint64]struct{}{}) })
	return l
}

// each calls a function with the index of each pair and of its two columns.
func (l *leaks) each(f func(pair, a, b int)) {
	pair := 0
	for b := range l.columns {
		for a := range b {
			f(pair, a, b)
			pair++
		}
	}
}

// take adds the examples of a batch.
func (l *leaks) take(tensor func(name string) *tfbridge.Tensor) error {
	if len(l.columns) < 2 || l.examples >= mostLeakExamples {
		return nil
	}
	keys, rows := make([][]uint64, len(l.columns)), 0
	for i, c := range l.columns {
		var err error
		if keys[i], err = keysOf(tensor(c.name)); err != nil {
			return err
		}
		rows = max(rows, len(keys[i])) // a column of another data type has none
		for _, k := range keys[i] {
			enter(&l.values[i], k)
		}
	}
	l.each(func(pair, a, b int) {
		for row := range min(len(keys[a]), len(keys[b])) {
			enter(&l.pairs[pair], mix(keys[a][row])^mix(mix(keys[b][row])))
		}
	})
	l.examples += int64(rows)
	return nil
}

// enter adds a value to a set, unless it has too many.
func enter(set *map[uint64]struct{}, key uint64) {
	if *set == nil {
		return
	}
	if (*set)[key] = struct{}{}; len(*set) > mostLeakValues {
		*set = nil
	}
}

// keysOf returns a number for each scalar: the same one for the same value. Tensors of other data types
// have none.
func keysOf(t *tfbridge.Tensor) ([]uint64, error) {
	switch t.DataType() {
	case dtype.String:
		texts, err := t.Strings()
		var keys []uint64
		for _, text := range texts {
			h := fnv.New64a()
			h.Write([]byte(text)) // a hash takes all bytes
			keys = append(keys, h.Sum64())
		}
		return keys, err
	case dtype.Bool:
		return keysAs(t, func(x bool) uint64 {
			if x {
				return 1
			}
			return 0
		})
	case dtype.Float:
		return keysAs(t, func(x float32) uint64 { return math.Float64bits(float64(x)) })
	case dtype.Double:
		return keysAs(t, math.Float64bits)
	case dtype.Int32:
		return keysAs(t, func(x int32) uint64 { return uint64(x) })
	case dtype.Int64:
		return keysAs(t, func(x int64) uint64 { return uint64(x) })
	case dtype.Uint8:
		return keysAs(t, func(x uint8) uint64 { return uint64(x) })
	}
	return nil, nil
}

func keysAs[T any](t *tfbridge.Tensor, key func(T) uint64) ([]uint64, error) {
	values, err := tfbridge.View[T](t)
	keys := make([]uint64, len(values))
	for i, x := range values {
		keys[i] = key(x)
	}
	return keys, err
}

// join adds what another goroutine has collected of the same columns.
func (l *leaks) join(o *leaks) {
	l.examples += o.examples
	for i := range l.values {
		joinSet(&l.values[i], o.values[i])
	}
	for i := range l.pairs {
		joinSet(&l.pairs[i], o.pairs[i])
	}
}

func joinSet(set *map[uint64]struct{}, other map[uint64]struct{}) {
	if other == nil {
		*set = nil
	}
	for key := range other {
		enter(set, key)
	}
}

// result returns the columns that determine others. If two columns determine each other, it returns the first.
func (l *leaks) result() (list []Determination) {
	l.each(func(pair, a, b int) {
		pairs, va, vb := l.pairs[pair], l.values[a], l.values[b]
		if pairs == nil || va == nil || vb == nil || l.examples < leastMost {
			return
		}
		enough := func(n int) bool { return int64(n)*leastRepeats <= l.examples }
		determines := func(v, of map[uint64]struct{}) bool {
			return len(pairs) == len(v) && len(v) > 1 && len(of) > 1 && enough(len(v))
		}
		switch {
		case determines(va, vb):
			list = append(list, Determination{l.columns[a].name, l.columns[b].name, int64(len(va)), determines(vb, va)})
		case determines(vb, va):
			list = append(list, Determination{l.columns[b].name, l.columns[a].name, int64(len(vb)), false})
		}
	})
	return list
}

// leaksPart is the form of leaks in a [Part]. Null is a set with too many values.
type leaksPart struct {
	Examples int64      `json:"examples"`
	Values   [][]uint64 `json:"values"`
	Pairs    [][]uint64 `json:"pairs"`
}

func (l *leaks) part() *leaksPart {
	p := &leaksPart{Examples: l.examples}
	for _, set := range l.values {
		p.Values = append(p.Values, listOf(set))
	}
	for _, set := range l.pairs {
		p.Pairs = append(p.Pairs, listOf(set))
	}
	return p
}

func listOf(set map[uint64]struct{}) []uint64 {
	if set == nil {
		return nil
	}
	list := make([]uint64, 0, len(set))
	for key := range set {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// leaks returns the collection that the part was made of. It is empty if the part is of other columns.
func (p *leaksPart) leaks(columns []known) *leaks {
	l := newLeaks(columns)
	if p == nil || len(p.Values) != len(l.values) || len(p.Pairs) != len(l.pairs) {
		return newLeaks(nil)
	}
	l.examples = p.Examples
	for i, list := range p.Values {
		l.values[i] = setOf(list)
	}
	for i, list := range p.Pairs {
		l.pairs[i] = setOf(list)
	}
	return l
}

func setOf(list []uint64) map[uint64]struct{} {
	if list == nil {
		return nil
	}
	set := map[uint64]struct{}{}
	for _, key := range list {
		set[key] = struct{}{}
	}
	return set
}
