package estimator

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"millrace/estimator/checkpoint"
	"millrace/graph/gradients"
	"millrace/savedmodel"
)

// variableName is what a variable is called.
type variableName struct {
	path    string                     // name in checkpoints, without the common suffix; "": it is not in checkpoints
	wrapper string                     // the other name in checkpoints of a variable that Keras's wraps; mostly ""
	object  *savedmodel.VariableObject // nil: Python knew nothing of it
}

// valueSuffix ends the names of Python's variables in checkpoints.
const valueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE"

// trimmed returns the name of a variable without the suffix of checkpoints.
func trimmed(name string) string { return strings.TrimSuffix(name, valueSuffix) }

// variableNames returns what the variables are called, by the names of their
// operations.
func variableNames(p *Pipeline) (map[string]variableName, error) {
	saved := p.model.saved
	variables, err := checkpoint.Variables(p.model.model.Graph(), saved.Program())
	if err != nil {
		return nil, err
	}
	objects := saved.VariableObjects()
	names := map[string]variableName{}
	for _, v := range variables {
		n := variableName{path: trimmed(v.Name)}
		if object, ok := objects[v.Name]; ok {
			n.object = &object
		}
		names[v.Handle.Op.Name()] = n
	}
	for _, v := range variables {
		if v.Wrapped.Op == nil {
			continue
		}
		wrapper, n := names[v.Handle.Op.Name()], names[v.Wrapped.Op.Name()]
		n.wrapper = wrapper.path
		if n.object != nil && wrapper.object != nil {
			n.object.Trainable = n.object.Trainable && wrapper.object.Trainable
		}
		names[v.Wrapped.Op.Name()] = n
	}
	return names, nil
}

// name returns the variable's path, which no other variable has.
func (n variableName) name(v gradients.Variable) string { return cmp.Or(n.path, v.Name) }

// all returns what the variable is called, the name that Python gave it first, as
// Keras names slots. Python may give two variables the same name.
func (n variableName) all(v gradients.Variable) []string {
	called := []string{n.path, v.Name}
	if n.wrapper != "" {
		called = append(called, n.wrapper)
	}
	if n.object != nil {
		called = append([]string{n.object.Name}, called...)
	}
	return called
}

// wanted reports whether to train a variable.
func (n variableName) wanted(v gradients.Variable, patterns []string) bool {
	if patterns == nil {
		return n.object == nil || n.object.Trainable
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(n.all(v), func(name string) bool { return name != "" && matches(pattern, name) })
	})
}

// matches is path.Match where * and ? also match a slash.
func matches(pattern, name string) bool {
	const other = "\x00" // a character that no name contains
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", other), strings.ReplaceAll(name, "/", other))
	return ok && err == nil
}

// number returns the position of the variable in Keras's list of all variables, 0 for
// other variables.
func (n variableName) number() int {
	for _, path := range []string{n.wrapper, n.path} {
		if digits, ok := strings.CutPrefix(path, "variables/"); ok {
			number, _ := strconv.Atoi(digits)
			return number
		}
	}
	return 0
}

// shown returns the name that people know.
func (n variableName) shown(v gradients.Variable) string {
	all := n.all(v)
	return cmp.Or(all[0], n.path, v.Name)
}

// VariableNames returns the names by which [Objective.Variables] may select the model's
// variables: Python's names, and the paths in checkpoints. It is sorted.
func (m *CheckedModel) VariableNames() []string {
	names := map[string]bool{}
	objects := m.saved.VariableObjects()
	for _, v := range m.saved.Variables {
		if object, ok := objects[v.Name]; ok && object.Name != "" {
			names[object.Name] = true
		}
		names[trimmed(v.Name)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// MatchesVariable reports whether one of the patterns of [Objective.Variables] matches a
// name.
func MatchesVariable(pattern, name string) bool { return matches(pattern, name) }
