package savedmodel

import "slices"

// traceVariable finds where the value of a string variable comes from. Python
// keeps the path of an asset in a variable: the init operation assigns it, and
// reads it back for the table. There is an answer only for a variable of the main
// graph that nothing but assignments can change, all of one origin.
func (j *judgement) traceVariable(handle string, depth int) origin {
	ref := parseRef(handle)
	v, ok := j.m.node(ref.node)
	name, named := variableName(v)
	if !ok || ref.control || v.op != "VarHandleOp" || !named {
		return origin{}
	}
	if u := j.m.variableUses(); u.unnamed || u.named[name] != 1 {
		return origin{}
	}
	var all origin
	for _, n := range j.m.variableUses().of[v.name] {
		in := n.dataInputs()
		switch {
		case j.m.functions[n.op] != nil:
			return origin{}
		case n.op == "ReadVariableOp" || n.op == "VarIsInitializedOp" || n.op == "DisableCopyOnRead":
		case n.op == "AssignVariableOp" && len(in) == 2:
			o := j.trace(nil, in[1], depth+1)
			if all.kind != originUnknown && (o.kind != all.kind || !slices.Equal(o.values, all.values)) {
				return origin{}
			}
			if all = o; o.kind == originUnknown {
				return origin{}
			}
		default:
			return origin{} // it may give the variable to an operation that changes it
		}
	}
	return all
}
