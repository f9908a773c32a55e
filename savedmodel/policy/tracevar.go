package policy

import (
	"slices"

	"millrace/savedmodel/metagraph"
)

// traceVariable finds the source of a string variable's value. Python keeps the path of
// an asset in a variable: the init operation assigns it, and reads it back for the
// table. It only finds a source for a variable of the main graph that only assignments
// can change, all with the same origin.
func (t *tracer) traceVariable(handle string, depth int) origin {
	ref := metagraph.ParseRef(handle)
	v, ok := t.m.Node(ref.Node)
	name, named := metagraph.VariableName(v)
	if !ok || ref.Control || v.Op != "VarHandleOp" || !named {
		return origin{}
	}
	if u := t.m.VariableUses(); u.Unnamed || u.Named[name] != 1 {
		return origin{}
	}
	var all origin
	for _, n := range t.m.VariableUses().Of[v.Name] {
		in := n.DataInputs()
		switch {
		case t.m.Functions[n.Op] != nil:
			return origin{}
		case n.Op == "ReadVariableOp" || n.Op == "VarIsInitializedOp" || n.Op == "DisableCopyOnRead":
		case n.Op == "AssignVariableOp" && len(in) == 2:
			o := t.trace(nil, in[1], depth+1)
			if all.kind != originUnknown && (o.kind != all.kind || !slices.Equal(o.values, all.values)) {
				return origin{}
			}
			if all = o; o.kind == originUnknown {
				return origin{}
			}
		default:
			return origin{} // it may pass the variable to an operation that changes it
		}
	}
	return all
}
