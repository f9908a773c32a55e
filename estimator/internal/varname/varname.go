// Package varname lists the names of a model's variables, and matches them with the patterns
// that select variables for training.
package varname

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"millrace/estimator/checkpoint"
	"millrace/graph/gradients"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// Name has the names of a variable.
type Name struct {
	path    string                     // name in checkpoints, without the common suffix; "": it is not in checkpoints
	wrapper string                     // the other name in checkpoints of a variable that Keras's wraps; mostly ""
	object  *savedmodel.VariableObject // nil if Python did not save it as an object
}

// valueSuffix ends the names of Python's variables in checkpoints.
const valueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE"

// Trimmed returns the name of a variable without the suffix of checkpoints.
func Trimmed(name string) string { return strings.TrimSuffix(name, valueSuffix) }

// Of returns the names of the variables of a model in a graph, by the names of their
// operations.
func Of(g *tfbridge.Graph, saved *savedmodel.Model) (map[string]Name, error) {
	variables, err := checkpoint.Variables(g, saved.Program())
	if err != nil {
		return nil, err
	}
	objects := saved.VariableObjects()
	names := map[string]Name{}
	for _, v := range variables {
		n := Name{path: Trimmed(v.Name)}
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

// Unique returns the variable's path, which no other variable has.
func (n Name) Unique(v gradients.Variable) string { return cmp.Or(n.path, v.Name) }

// All returns all names of the variable, Python's name first, as Keras uses it for
// slots. Python may give two variables the same name.
func (n Name) All(v gradients.Variable) []string {
	called := []string{n.path, v.Name}
	if n.wrapper != "" {
		called = append(called, n.wrapper)
	}
	if n.object != nil {
		called = append([]string{n.object.Name}, called...)
	}
	return called
}

// Selected reports whether patterns select a variable for training. Nil patterns select
// the variables that Python did not mark as not trainable.
func (n Name) Selected(v gradients.Variable, patterns []string) bool {
	if patterns == nil {
		return n.object == nil || n.object.Trainable
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(n.All(v), func(name string) bool { return name != "" && Matches(pattern, name) })
	})
}

// Matches is path.Match where * and ? also match a slash.
func Matches(pattern, name string) bool {
	const other = "\x00" // a character that no name contains
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", other), strings.ReplaceAll(name, "/", other))
	return ok && err == nil
}

// Number returns the position of the variable in Keras's list of all variables, 0 for
// other variables.
func (n Name) Number() int {
	for _, path := range []string{n.wrapper, n.path} {
		if digits, ok := strings.CutPrefix(path, "variables/"); ok {
			number, _ := strconv.Atoi(digits)
			return number
		}
	}
	return 0
}

// Shown returns the name for messages.
func (n Name) Shown(v gradients.Variable) string {
	all := n.All(v)
	return cmp.Or(all[0], n.path, v.Name)
}
