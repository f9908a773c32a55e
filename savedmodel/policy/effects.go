package policy

import (
	"millrace/internal/base/wire"
	"millrace/savedmodel/effect"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// effects are the effects of a node, or of all nodes of a function: the functions that
// it calls, and its operations that the table does not allow unconditionally.
type effects struct {
	calls   []call
	suspect []suspect
}

// call is a use of a function.
type call struct {
	callee string
	inputs []string            // the caller's names of the arguments; nil: unknown
	caller *metagraph.Function // nil: the main graph
}

// suspect is an operation that the table does not allow unconditionally.
type suspect struct {
	node   metagraph.Node
	class  *opClass // nil: TensorFlow has no such operation
	caller *metagraph.Function
	why    string // the objection to it
	named  bool   // the node itself runs another operation, and names this one as a function
}

// add adds the effects of one node.
func (e *effects) add(m *metagraph.Graph, allowed map[string]bool, n metagraph.Node, caller *metagraph.Function) {
	if m.Functions[n.Op] != nil {
		e.addCallee(m, allowed, n, call{callee: n.Op, inputs: n.DataInputs(), caller: caller})
	} else if class := opClasses()[n.Op]; !allowed[n.Op] && !isFree(n.Op, class) {
		e.suspect = append(e.suspect, suspect{node: n, class: class, caller: caller})
	}
	for _, a := range n.Attrs {
		direct := n.DirectFunctions(a.Name, a.Value)
		message.FunctionsIn(a.Value, message.AttrValueType(), func(name string) {
			c := call{callee: name, caller: caller}
			// The same function may be called and bound to an attribute of the call.
			// Then one of two calls has known inputs; it does not matter which of the
			// two.
			if len(direct) > 0 && direct[0] == name {
				c.inputs, direct = n.DataInputs()[metagraph.DirectCalls[n.Op].Skip:], direct[1:]
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

// addCallee adds a function that a node names. Some operations accept the name of an
// operation there, so such a name is looked up in the table too.
func (e *effects) addCallee(m *metagraph.Graph, allowed map[string]bool, n metagraph.Node, c call) {
	if m.Functions[c.callee] != nil {
		e.calls = append(e.calls, c)
	} else if class := opClasses()[c.callee]; c.callee != "" && !allowed[c.callee] && !isFree(c.callee, class) {
		n.Op = c.callee
		e.suspect = append(e.suspect, suspect{node: n, class: class, caller: c.caller, named: true})
	}
	// A library can name a gradient for a function and for an operation.
	if gradient := m.Gradients[c.callee]; m.Functions[gradient] != nil {
		e.calls = append(e.calls, call{callee: gradient, caller: c.caller})
	}
}

// callGraph computes the effects of each function of a graph.
type callGraph struct {
	r       *metagraph.Report
	m       *metagraph.Graph
	allowed map[string]bool // operations that the caller allows by name
	effects map[*metagraph.Function]*effects
}

// effectsOf returns the effects of a function: of its body, and of the functions that
// its attributes and their defaults name.
func (g *callGraph) effectsOf(fn *metagraph.Function) (*effects, error) {
	if e := g.effects[fn]; e != nil {
		return e, nil
	}
	e := &effects{}
	seen := make(map[string]bool, len(fn.Nodes))
	for _, b := range fn.Nodes {
		n := metagraph.ParseNode(b)
		if n.Name == "" || seen[n.Name] {
			return nil, g.r.Fail("function %s: node %s has no name or is there twice", modelfile.Quote(fn.Name), modelfile.Quote(n.Name))
		}
		seen[n.Name] = true
		e.add(g.m, g.allowed, n, fn)
	}
	for f := range wire.Fields(fn.Def) {
		if t := message.FunctionDefType().Field(f.Num); t.Message != nil && f.Num != metagraph.FunctionNode {
			message.FunctionsIn(f.Bytes, t.Message, func(name string) {
				e.addCallee(g.m, g.allowed, metagraph.Node{}, call{callee: name, caller: fn})
			})
		}
	}
	g.effects[fn] = e
	return e, nil
}
