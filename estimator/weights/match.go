package weights

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"millrace"
	"millrace/dtype"
)

/*
Which tensor belongs to which variable

A variable has several names, and so has a tensor. A pair is made by the first of these
rules that finds one, for all variables before the next rule is asked:

 1. a name of the tensor, renamed by Options.Map, is a name of the variable;
 2. the first name of the tensor is the first one of the variable, or any of its names is
    any of the variable's, and nothing else has that name;
 3. the tensor is number k of a layer, and the variable is number k of the layer of that
    name, in the order in which Keras saves a layer's weights;
 4. one name is the end of the other, at least a layer and a weight long ("dense/kernel"
    and "model/dense/kernel"), and no other pair has these ends.

A pair whose shapes differ, or whose types cannot be converted, is none: it is reported.
*/

// Variable is a variable of a model that is to get a value.
type Variable struct {
	Names []string // names, the one in checkpoints first
	DType dtype.DataType
	Shape dtype.Shape
}

// Rename gives tensors other names. From and To may have one star, which stands for the
// same text in both.
type Rename struct{ From, To string }

// Options says which variables get values. Nil means the zero value: all of them.
type Options struct {
	Variables    []string // patterns of names, as path.Match has them, except that * and ? match slashes too; nil: all
	Map          []Rename
	SkipMismatch bool // variables that no tensor fits keep their values; false: they are an error
}

// Pair is a tensor and the variable it is for.
type Pair struct {
	Variable int // index of the variable
	Tensor   int // index in Source.Tensors
}

// Match assigns tensors to variables.
type Match struct {
	Taken      []Pair
	Missing    []int    // variables whose name no tensor has
	Mismatched []string // variables whose tensor does not fit, each with the reason
	Unused     []int    // tensors that belong to no variable
	Kept       []int    // variables that Options.Variables excludes
}

// NewMatch finds the tensor of each variable. Unless Options.SkipMismatch is set, a
// variable without a fitting tensor is an error that lists all of them.
func NewMatch(variables []Variable, s *Source, o *Options) (*Match, error) {
	if o == nil {
		o = &Options{}
	}
	m := &matcher{source: s, variables: variables, tensorOf: map[int]int{}, used: map[int]bool{}, result: &Match{}}
	for i, v := range variables {
		if o.Variables != nil && !v.matches(o.Variables) {
			m.result.Kept = append(m.result.Kept, i)
		} else {
			m.wanted = append(m.wanted, i)
		}
	}
	if o.Variables != nil && len(m.wanted) == 0 {
		return nil, s.failure("no variable of the model has a name that %q match; the first is called %q", o.Variables, firstNames(variables))
	}
	m.byName(func(t *Tensor) []string { return renamed(t, o.Map) }, func(v *Variable) []string { return v.Names })
	m.byName(func(t *Tensor) []string { return t.Names[:1] }, func(v *Variable) []string { return v.Names[:1] })
	m.byName(func(t *Tensor) []string { return t.Names }, func(v *Variable) []string { return v.Names })
	m.byLayer()
	m.byEnd()
	return m.finish(o)
}

// firstNames returns the first name of each variable.
func firstNames(variables []Variable) []string {
	if len(variables) == 0 {
		return nil
	}
	return variables[0].Names
}

// matcher makes one Match.
type matcher struct {
	source    *Source
	variables []Variable
	wanted    []int
	tensorOf  map[int]int // tensors, by the index of their variable
	used      map[int]bool
	result    *Match
}

// open returns the wanted variables that have no tensor yet.
func (m *matcher) open() []int {
	return slices.DeleteFunc(slices.Clone(m.wanted), func(v int) bool { _, ok := m.tensorOf[v]; return ok })
}

// pair makes a pair.
func (m *matcher) pair(variable, tensor int) { m.tensorOf[variable], m.used[tensor] = tensor, true }

// byName pairs by equal names that one tensor and one variable have.
func (m *matcher) byName(ofTensor func(t *Tensor) []string, ofVariable func(v *Variable) []string) {
	tensors, variables := map[string][]int{}, map[string][]int{}
	add := func(to map[string][]int, name string, i int) {
		if name = plain(name); !slices.Contains(to[name], i) {
			to[name] = append(to[name], i)
		}
	}
	for i := range m.source.Tensors {
		if !m.used[i] {
			for _, name := range ofTensor(&m.source.Tensors[i]) {
				add(tensors, name, i)
			}
		}
	}
	for _, v := range m.open() {
		for _, name := range ofVariable(&m.variables[v]) {
			add(variables, name, v)
		}
	}
	for _, v := range m.open() {
		for _, name := range ofVariable(&m.variables[v]) {
			if t := tensors[plain(name)]; len(t) == 1 && len(variables[plain(name)]) == 1 && !m.used[t[0]] {
				m.pair(v, t[0])
				break
			}
		}
	}
}

// plain returns a name without what TensorFlow adds.
func plain(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "/.ATTRIBUTES/VARIABLE_VALUE"), ":0")
}

// order is the order of a layer's weights in Keras's files: trained weights first, each
// kind in the order in which layers make it.
var order = []string{
	"depthwise_kernel", "pointwise_kernel", "embeddings", "kernel", "recurrent_kernel", "alpha", "gamma", "scale", "beta", "bias",
	"moving_mean", "moving_variance", "mean", "variance", "count",
}

// byLayer pairs the numbered weights of layers.
func (m *matcher) byLayer() {
	layers := map[string][]int{} // variables by every end of their layer's name
	for _, v := range m.open() {
		seen := map[string]bool{}
		for _, name := range m.variables[v].Names {
			for layer := path.Dir(plain(name)); layer != "." && layer != ""; {
				if !seen[layer] {
					layers[layer], seen[layer] = append(layers[layer], v), true
				}
				_, rest, ok := strings.Cut(layer, "/")
				if !ok {
					break
				}
				layer = rest
			}
		}
	}
	for t, tensor := range m.source.Tensors {
		if tensor.Layer == "" || m.used[t] {
			continue
		}
		members := slices.Clone(layers[tensor.Layer])
		slices.SortStableFunc(members, func(a, b int) int { return m.rank(a) - m.rank(b) })
		kinds := map[int]bool{}
		for _, v := range members {
			kinds[m.rank(v)] = true
		}
		if len(kinds) != len(members) || tensor.Index >= len(members) || kinds[len(order)] && len(members) > 1 {
			continue // two layers of one name, or weights whose order is not known
		}
		if v := members[tensor.Index]; !m.paired(v) {
			m.pair(v, t)
		}
	}
}

// paired reports whether a variable has a tensor.
func (m *matcher) paired(v int) bool { _, ok := m.tensorOf[v]; return ok }

// rank returns the position of a variable's kind in order.
func (m *matcher) rank(v int) int {
	for _, name := range m.variables[v].Names {
		if i := slices.Index(order, path.Base(plain(name))); i >= 0 {
			return i
		}
	}
	return len(order)
}

// byEnd pairs names that end alike.
func (m *matcher) byEnd() {
	variables, tensors := map[string][]int{}, map[string][]int{}
	for _, v := range m.open() {
		for _, end := range ends(m.variables[v].Names) {
			variables[end] = append(variables[end], v)
		}
	}
	for t := range m.source.Tensors {
		if !m.used[t] {
			for _, end := range ends(m.source.Tensors[t].Names) {
				tensors[end] = append(tensors[end], t)
			}
		}
	}
	for _, v := range m.open() {
		for _, end := range ends(m.variables[v].Names) {
			t := tensors[end]
			if len(t) == 1 && len(variables[end]) == 1 && !m.used[t[0]] && (whole(m.variables[v].Names, end) || whole(m.source.Tensors[t[0]].Names, end)) {
				m.pair(v, t[0])
				break
			}
		}
	}
}

// ends returns the ends of names that have a layer and a weight at least, the longest
// first.
func ends(names []string) []string {
	var all []string
	for _, name := range names {
		for name = plain(name); strings.Contains(name, "/"); {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
			_, name, _ = strings.Cut(name, "/")
		}
	}
	return all
}

// whole reports whether an end is all of a name.
func whole(names []string, end string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return plain(n) == end })
}

// renamed returns the names that a map gives a tensor.
func renamed(t *Tensor, renames []Rename) []string {
	var names []string
	for _, r := range renames {
		before, after, star := strings.Cut(r.From, "*")
		for _, name := range t.Names {
			name = plain(name)
			switch {
			case !star && name == r.From:
				names = append(names, r.To)
			case star && len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after):
				names = append(names, strings.Replace(r.To, "*", name[len(before):len(name)-len(after)], 1))
			}
		}
	}
	return names
}

// label returns the variable's name for messages.
func (v *Variable) label() string {
	for _, name := range v.Names[1:] {
		if plain(name) != plain(v.Names[0]) {
			return fmt.Sprintf("%s (%s)", plain(v.Names[0]), plain(name))
		}
	}
	return plain(v.Names[0])
}

// isSeed reports whether the variable is the seed of a random layer of Keras. Its files of weights
// have none.
func (v *Variable) isSeed() bool {
	return slices.ContainsFunc(v.Names, func(name string) bool { return path.Base(plain(name)) == "seed_generator_state" })
}

// matches reports whether a pattern matches a name of the variable.
func (v *Variable) matches(patterns []string) bool {
	const other = "\x00" // a character that no name contains
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(v.Names, func(name string) bool {
			ok, err := path.Match(strings.ReplaceAll(pattern, "/", other), strings.ReplaceAll(plain(name), "/", other))
			return ok && err == nil
		})
	})
}

// finish compares shapes and types and reports what is left.
func (m *matcher) finish(o *Options) (*Match, error) {
	var problems []string
	for _, v := range m.wanted {
		variable := &m.variables[v]
		t, ok := m.tensorOf[v]
		if !ok {
			m.result.Missing = append(m.result.Missing, v)
			if !variable.isSeed() {
				problems = append(problems, fmt.Sprintf("%s is missing", variable.label()))
			}
			continue
		}
		if tensor := &m.source.Tensors[t]; !fits(tensor, variable) {
			text := fmt.Sprintf("%s is %v%v in the model, %s is %v%v", variable.label(), variable.DType, variable.Shape, tensor.Names[0], tensor.DType, tensor.Shape)
			m.result.Mismatched = append(m.result.Mismatched, text)
			problems = append(problems, text)
			continue
		}
		m.result.Taken = append(m.result.Taken, Pair{Variable: v, Tensor: t})
	}
	m.result.Unused = m.unused()
	switch {
	case len(m.result.Taken) == 0:
		return nil, m.source.failure("it has the value of no variable of the model: %s; it has %s", some(problems), m.some(m.result.Unused))
	case len(problems) > 0 && !o.SkipMismatch:
		return nil, m.source.failure("it does not fit the model: %s; name the variables to set, map names, or allow what does not fit with skip_mismatch. Not used: %s",
			some(problems), m.some(m.result.Unused))
	}
	return m.result, nil
}

// unused returns the tensors that no variable takes, except those that repeat another
// tensor: Keras stores a variable under two names in a SavedModel.
func (m *matcher) unused() []int {
	taken := map[string]bool{}
	for t := range m.used {
		if names := m.source.Tensors[t].Names; len(names) > 1 {
			taken[names[1]+m.source.Tensors[t].Shape.String()] = true
		}
	}
	var list []int
	for t, tensor := range m.source.Tensors {
		if !m.used[t] && !(len(tensor.Names) > 1 && taken[tensor.Names[1]+tensor.Shape.String()]) {
			list = append(list, t)
		}
	}
	return list
}

// fits reports whether a tensor can be the value of a variable.
func fits(t *Tensor, v *Variable) bool {
	floats := []dtype.DataType{dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double}
	convertible := slices.Contains(floats, t.DType) && slices.Contains(floats, v.DType)
	return (t.DType == v.DType || convertible) && v.Shape.IsCompatibleWith(t.Shape)
}

// some lists a few texts.
func some(texts []string) string {
	const most = 8
	if n := len(texts); n > most {
		return strings.Join(texts[:most], ", ") + fmt.Sprintf(", and %d more", n-most)
	}
	return strings.Join(texts, ", ")
}

// some lists a few tensors of the source.
func (m *matcher) some(tensors []int) string {
	var names []string
	for _, t := range tensors {
		names = append(names, millrace.Quote(m.source.Tensors[t].Names[0]))
	}
	if len(names) == 0 {
		return "nothing"
	}
	return some(names)
}

// Report lists what was taken and what was not, a line for each.
func (m *Match) Report(variables []Variable, s *Source) []string {
	lines := []string{fmt.Sprintf("%d of %d variables begin with values of %s (%s)", len(m.Taken), len(variables), s.Path, s.Format)}
	add := func(what string, names []string) {
		if len(names) > 0 {
			lines = append(lines, what+": "+some(names))
		}
	}
	var missing, kept, unused []string
	for _, v := range m.Missing {
		missing = append(missing, variables[v].label())
	}
	for _, v := range m.Kept {
		kept = append(kept, variables[v].label())
	}
	for _, t := range m.Unused {
		unused = append(unused, s.Tensors[t].Names[0])
	}
	add("variables that it does not have, which keep the model's values", missing)
	add("variables that it has in another form, which keep the model's values", m.Mismatched)
	add("variables that were not asked for", kept)
	add("tensors that no variable takes", unused)
	add("tensors that cannot be read", s.Skipped)
	return lines
}
