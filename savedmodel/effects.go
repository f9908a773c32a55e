package savedmodel

import (
	"millrace/savedmodel/effect"
)

// effects is what a node, or all nodes of a function, may do besides computing:
// the functions that it calls, and its operations that the table does not simply
// allow.
type effects struct {
	calls   []call
	suspect []suspect
}

// call is a use of a function.
type call struct {
	callee string
	inputs []string  // the function's arguments, as the caller names them; nil: nobody knows
	caller *function // nil: the main graph
}

// suspect is an operation that the table does not simply allow.
type suspect struct {
	node   nodeDef
	class  *opClass // nil: TensorFlow has no such operation
	caller *function
	why    string // the objection to it
	named  bool   // the node names the operation in the place of a function, and runs another one
}

// add adds what one node does.
func (e *effects) add(m *metaGraph, allowed map[string]bool, n nodeDef, caller *function) {
	if m.functions[n.op] != nil {
		e.addCallee(m, allowed, n, call{callee: n.op, inputs: n.dataInputs(), caller: caller})
	} else if class := opClasses()[n.op]; !allowed[n.op] && !isFree(n.op, class) {
		e.suspect = append(e.suspect, suspect{node: n, class: class, caller: caller})
	}
	for _, a := range n.attrs {
		direct := n.directFunctions(a.name, a.value)
		functionsIn(a.value, attrValueType(), func(name string) {
			c := call{callee: name, caller: caller}
			// The same function may be called and bound to an attribute of the
			// call. Then one of two calls has known inputs; it does not
			// matter which of the two names is taken for which.
			if len(direct) > 0 && direct[0] == name {
				c.inputs, direct = n.dataInputs()[directCalls[n.op].skip:], direct[1:]
			}
			e.addCallee(m, allowed, n, c)
		})
	}
}

// isFree reports whether an operation may stand anywhere, whatever its inputs are.
func isFree(op string, class *opClass) bool {
	row, ok := effect.Of(op)
	return ok && !row.Limited() && class != nil && class.verdict == allow
}

// addCallee adds a function that a node names. Some operations take the name of
// another operation there, so such a name is looked up in the table too.
func (e *effects) addCallee(m *metaGraph, allowed map[string]bool, n nodeDef, c call) {
	if m.functions[c.callee] != nil {
		e.calls = append(e.calls, c)
	} else if class := opClasses()[c.callee]; c.callee != "" && !allowed[c.callee] && !isFree(c.callee, class) {
		n.op = c.callee
		e.suspect = append(e.suspect, suspect{node: n, class: class, caller: c.caller, named: true})
	}
	// A library can name a gradient for a function and for an operation.
	if gradient := m.gradients[c.callee]; m.functions[gradient] != nil {
		e.calls = append(e.calls, call{callee: gradient, caller: c.caller})
	}
}

// effectsOf returns what a function does: its body, and the functions that its
// attributes and their defaults name.
func (j *judgement) effectsOf(fn *function) (*effects, error) {
	if e := j.effects[fn]; e != nil {
		return e, nil
	}
	e := &effects{}
	seen := make(map[string]bool, len(fn.nodes))
	for _, b := range fn.nodes {
		n := parseNode(b)
		if n.name == "" || seen[n.name] {
			return nil, j.r.fail("function %s: node %s has no name or is there twice", quote(fn.name), quote(n.name))
		}
		seen[n.name] = true
		e.add(j.m, j.allowed, n, fn)
	}
	for f := range fieldsOf(fn.def) {
		if t := functionDefType().field(f.num); t.message != nil && f.num != functionNode {
			functionsIn(f.bytes, t.message, func(name string) {
				e.addCallee(j.m, j.allowed, nodeDef{}, call{callee: name, caller: fn})
			})
		}
	}
	j.effects[fn] = e
	return e, nil
}
