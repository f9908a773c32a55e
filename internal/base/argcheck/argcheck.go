// Package argcheck holds rules for the arguments of TensorFlow's operations whose
// kernels end the process for some shapes, values or handles: a table, rules.txt.
//
//	rules := argcheck.Of("TensorListReserve")        // value(1)<=4194304
//	err := rules[0].Check(func(i int) argcheck.Arg { // of input i
//		return argcheck.Arg{DType: dtype.Int32, Data: size}
//	})
//
// Package graph/internal/inputcheck inserts an operation that checks the rules in front of
// each operation in the table.
package argcheck

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"millrace/dtype"
)

//go:embed rules.txt
var text string

// Arg is an argument of an operation.
type Arg struct {
	DType   dtype.DataType
	Shape   []int64
	Data    []byte // the elements, if they are numbers
	Bytes   int64  // size of all strings, and of the longest, if the elements are strings
	Longest int64
}

// Rule is a condition that the arguments of an operation must meet.
type Rule struct {
	text        string
	attr        string // the rule applies to nodes with this attribute unset or equal to attrIs; "": to all nodes
	attrIs      int64
	ofStrings   bool     // attrIs is the dtype of strings, and the attribute must be set to it
	ofBool      bool     // the attribute is a bool, and must be attrIs; unset it is false
	words       []string // the attribute is a string, and must be one of these; unset it is ""
	left, right term
	relation    string
	or          int64 // another number that the left side may be, if there is one
	hasOr       bool
}

// term is a number that a rule compares.
type term struct {
	function string // rank, size, value, last, fills…; "": a constant; dtype: the dtype of the handle's variable
	input    int
	add      int64
	onward   bool   // all inputs from this one
	third    bool   // the first input of the last third
	attr     string // attribute on the right of a dtype
}

// String returns the rule in the table's format.
func (r Rule) String() string { return r.text }

// Attr returns the attribute that must be unset or have a given value for the rule to
// apply. The name is empty if the rule always applies.
func (r Rule) Attr() (name string, value int64) {
	if r.ofStrings || r.ofBool || len(r.words) > 0 {
		return "", 0
	}
	return r.attr, r.attrIs
}

// OfBool returns the attribute that must be a bool of the given value for the rule to
// apply. An attribute that is unset is false.
func (r Rule) OfBool() (attr string, want, ok bool) { return r.attr, r.attrIs != 0, r.ofBool }

// OfWords returns the attribute that must be one of some words, or whose list must end with
// one, for the rule to apply. An attribute that is unset is "".
func (r Rule) OfWords() (attr string, words []string, ok bool) {
	return r.attr, r.words, len(r.words) > 0
}

// OfStrings returns the attribute that must be the dtype of strings for the rule to
// apply.
func (r Rule) OfStrings() (attr string, ok bool) { return r.attr, r.ofStrings }

// For returns the rule for an operation with n inputs: several if the rule is about all
// inputs from a position on.
func (r Rule) For(n int) []Rule {
	if r.left.function == "joined" || r.left.function == "crossed" {
		r.left.input = n
		r.text = fmt.Sprintf("%s(%d)%s", r.left.function, n, r.text[strings.Index(r.text, ")")+1:])
		r.attr, r.ofStrings, r.ofBool, r.words = "", false, false, nil
		return []Rule{r}
	}
	if r.left.input >= 0 && !r.left.onward {
		return []Rule{r}
	}
	var all []Rule
	from, to := r.left.input+n, r.left.input+n // a negative number counts from the end
	if r.left.third {
		r.left.input = n / 3 * 2
	}
	if r.left.onward {
		from, to = r.left.input, n-1
	}
	for i := max(from, 0); i <= to; i++ {
		one := r
		one.left.input, one.left.onward, one.left.third = i, false, false
		one.attr, one.ofStrings, one.ofBool, one.words = "", false, false, nil
		one.text = fmt.Sprintf("%s(%d)%s", r.left.function, i, r.text[strings.Index(r.text, ")")+1:])
		all = append(all, one)
	}
	return all
}

// Handle returns the input whose handle the rule is about, and the attribute with
// the dtype that its variable must have.
func (r Rule) Handle() (input int, attr string, ok bool) {
	return r.left.input, r.right.attr, r.left.function == "dtype"
}

// Rank returns the input whose rank must be a constant number, if the rule requires
// that.
func (r Rule) Rank() (input, rank int, ok bool) {
	return r.left.input, int(r.right.add), r.left.function == "rank" && r.relation == "=" && r.right.function == "" && !r.hasOr
}

// AtMost returns the input whose rank must be at most a constant number, if that is all
// that the rule requires.
func (r Rule) AtMost() (input, rank int, ok bool) {
	return r.left.input, int(r.right.add), r.left.function == "rank" && r.relation == "<=" && r.right.function == "" && !r.left.onward && r.left.input >= 0
}

// SizeAtMost returns the input that may have a constant number of elements at most, if that is
// all that the rule requires.
func (r Rule) SizeAtMost() (input, size int, ok bool) {
	return r.left.input, int(r.right.add), r.left.function == "size" && r.relation == "<=" && r.right.function == "" && !r.left.onward && !r.left.third && r.left.input >= 0
}

// Scalar returns the largest integer scalar that meets the rule. ok is false if the rule
// depends on anything else.
func (r Rule) Scalar() (input int, largest int64, ok bool) {
	if r.left.onward || r.left.input < 0 || r.hasOr || r.right.function != "" || r.right.attr != "" {
		return 0, 0, false
	}
	switch {
	case r.left.function == "size" && r.relation == "=" && r.right.add == 1:
		return r.left.input, math.MaxInt64, true
	case r.left.function == "value" && r.relation == "<=":
		return r.left.input, r.right.add, true
	}
	return 0, 0, false
}

// OfRanks reports whether the rule reads nothing but the ranks of inputs.
func (r Rule) OfRanks() bool {
	return r.left.function == "rank" && (r.right.function == "" || r.right.function == "rank")
}

// Inputs returns the inputs that the rule reads.
func (r Rule) Inputs() []int {
	inputs := []int{r.left.input}
	if r.left.function == "joined" || r.left.function == "crossed" {
		inputs = nil
		for i := range r.left.input {
			inputs = append(inputs, i)
		}
	}
	switch r.left.function {
	case "fills", "repeats", "picks", "offset":
		inputs = append(inputs, 0)
	case "filledwith", "each":
		inputs = append(inputs, 1)
	}
	if r.right.function != "" {
		inputs = append(inputs, r.right.input)
	}
	return inputs
}

var table = sync.OnceValues(func() (map[string][]Rule, error) { return parse(text) })

// All returns the rules by operation.
func All() map[string][]Rule {
	all, err := table()
	if err != nil {
		return nil // TestTable reports why
	}
	return all
}

// Of returns the rules of an operation.
func Of(op string) []Rule { return All()[op] }

// Without removes rule i of an operation until restore is called. Tests show with it that
// something needs the rule. Nothing else may use the rules meanwhile.
func Without(op string, i int) (restore func()) {
	all := All()
	rules := all[op]
	all[op] = slices.Delete(slices.Clone(rules), i, i+1)
	return func() { all[op] = rules }
}

// parse reads the table.
func parse(table string) (map[string][]Rule, error) {
	all := map[string][]Rule{}
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if _, twice := all[fields[0]]; twice || len(fields) == 1 {
			return nil, fmt.Errorf("%s has two lines, or an empty one", fields[0])
		}
		for _, f := range fields[1:] {
			r, err := Parse(f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fields[0], err)
			}
			all[fields[0]] = append(all[fields[0]], r)
		}
	}
	return all, nil
}

var (
	ruleForm = regexp.MustCompile(`^(?:\[(\w+)=(-?\d+|string|true|false|"[A-Z_|]*")\])?(dtype|rank|size|value|last|fills|bytes|memory|offset|product|first|head|finite|step|repeats|filledwith|picks|joined|crossed|slice|each)\((-?\d+|2/3)(\+?)\)(=|<=|>=)(\S+)$`)
	termForm = regexp.MustCompile(`^(?:(rank|size|last|first|slice)\((\d+)\))?([+-]?\d+)?$`)
)

// Parse reads one rule.
func Parse(s string) (Rule, error) {
	m := ruleForm.FindStringSubmatch(s)
	if m == nil {
		return Rule{}, fmt.Errorf("%q is not a rule", s)
	}
	r := Rule{text: s, attr: m[1], relation: m[6], left: term{function: m[3], onward: m[5] == "+"}}
	r.attrIs, _ = strconv.ParseInt(m[2], 10, 64)
	r.ofStrings, r.ofBool = m[2] == "string", m[2] == "true" || m[2] == "false"
	if list, ok := strings.CutPrefix(m[2], `"`); ok {
		r.words = strings.Split(strings.TrimSuffix(list, `"`), "|")
	}
	if m[2] == "true" {
		r.attrIs = 1
	}
	r.left.input, _ = strconv.Atoi(m[4])
	r.left.third = m[4] == "2/3"
	if r.left.function == "dtype" {
		r.right.attr = m[7]
		return r, nil
	}
	first, second, hasOr := strings.Cut(m[7], "|")
	if r.hasOr = hasOr; hasOr {
		var err error
		if r.or, err = strconv.ParseInt(second, 10, 64); err != nil {
			return Rule{}, fmt.Errorf("%q is not a rule: %q is not a number", s, second)
		}
	}
	t := termForm.FindStringSubmatch(first)
	if t == nil {
		return Rule{}, fmt.Errorf("%q is not a rule: %q is not a number", s, m[7])
	}
	r.right = term{function: t[1]}
	r.right.input, _ = strconv.Atoi(t[2])
	r.right.add, _ = strconv.ParseInt(t[3], 10, 64)
	return r, nil
}
