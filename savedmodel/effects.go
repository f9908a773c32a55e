package savedmodel

import "slices"

// effects is what running a node, or all nodes of a function, may do besides
// computing: which functions it calls, and which of its operations are not
// simply allowed.
type effects struct {
	calls   []call
	suspect []suspect
}

// call is a use of a function.
type call struct {
	callee string
	inputs []string  // what the function's arguments are, in the caller's terms
	opaque bool      // the inputs are not the arguments, one to one
	caller *function // nil: the main graph
}

// suspect is a node whose operation is not simply allowed.
type suspect struct {
	node   nodeDef
	class  *opClass // nil: no operation of TensorFlow's
	caller *function
}

// directInputs says where the arguments of a function start among the inputs of
// the operations that pass them on one to one.
var directInputs = map[string]int{
	"PartitionedCall": 0, "StatefulPartitionedCall": 0,
	"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1,
}

// add adds what one node does. A function hides an operation of its name, as
// it does in TensorFlow.
func (e *effects) add(m *metaGraph, allowed map[string]bool, n nodeDef, caller *function) {
	c := call{caller: caller, opaque: true}
	skip, direct := directInputs[n.op]
	if m.functions[n.op] != nil {
		direct = false
		e.calls = append(e.calls, call{callee: n.op, inputs: n.dataInputs(), caller: caller})
	} else if class := opClasses()[n.op]; !allowed[n.op] && (class == nil || class.verdict != allow) {
		e.suspect = append(e.suspect, suspect{node: n, class: class, caller: caller})
	}
	if in := n.dataInputs(); direct && len(in) >= skip {
		c.inputs, c.opaque = in[skip:], false
	}
	for _, a := range n.attrs {
		functionsIn(a.value, func(name string) {
			c.callee = name
			e.addCallee(m, allowed, n, c)
		})
	}
}

// addCallee adds a function that an attribute names. TensorFlow has
// operations that take the name of another operation there, so that is
// classified too.
func (e *effects) addCallee(m *metaGraph, allowed map[string]bool, n nodeDef, c call) {
	if m.functions[c.callee] != nil {
		e.calls = append(e.calls, c)
		if gradient := m.gradients[c.callee]; m.functions[gradient] != nil {
			e.calls = append(e.calls, call{callee: gradient, caller: c.caller, opaque: true})
		}
		return
	}
	class := opClasses()[c.callee]
	if c.callee == "" || allowed[c.callee] || (class != nil && class.verdict == allow) {
		return
	}
	n.op = c.callee
	e.suspect = append(e.suspect, suspect{node: n, class: class, caller: c.caller})
}

// effectsOf returns what a function's body does.
func (r *reader) effectsOf(m *metaGraph, fn *function) (*effects, error) {
	if fn.effects != nil {
		return fn.effects, nil
	}
	e := &effects{}
	seen := make(map[string]bool, len(fn.nodes))
	for _, b := range fn.nodes {
		n := parseNode(b)
		if n.name == "" || seen[n.name] {
			return nil, r.fail("function %s: node %s has no name or is there twice", quote(fn.name), quote(n.name))
		}
		seen[n.name] = true
		e.add(m, r.allowed, n, fn)
	}
	fn.effects = e
	return e, nil
}

// checkCalls refuses functions that call themselves, however indirectly, or
// that nest too deep: TensorFlow follows them until its stack ends.
func (r *reader) checkCalls(m *metaGraph) error {
	depth := make(map[string]int, len(m.functions)) // 0: not seen, -1: being walked
	for _, name := range sortedKeys(m.functions) {
		if err := r.measure(m, name, depth); err != nil {
			return err
		}
	}
	return nil
}

// frame is a function being walked, and how far.
type frame struct {
	name  string
	calls []call
	next  int
}

// measure finds how deep the functions below name nest. It keeps its own stack,
// which a hostile model cannot exhaust.
func (r *reader) measure(m *metaGraph, name string, depth map[string]int) error {
	var stack []frame
	enter := func(name string) error {
		e, err := r.effectsOf(m, m.functions[name])
		if err != nil {
			return err
		}
		depth[name] = -1
		stack = append(stack, frame{name: name, calls: e.calls})
		return nil
	}
	if depth[name] == 0 {
		if err := enter(name); err != nil {
			return err
		}
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.calls) {
			deepest := 0
			for _, c := range top.calls {
				deepest = max(deepest, depth[c.callee])
			}
			depth[top.name] = deepest + 1
			if deepest+1 > maxFunctionDepth {
				return r.limit("functions call each other more than %d deep, below %s", maxFunctionDepth, quote(top.name))
			}
			stack = stack[:len(stack)-1]
			continue
		}
		callee := top.calls[top.next].callee
		top.next++
		switch {
		case depth[callee] < 0:
			return r.fail("function %s calls itself%s", quote(callee), through(stack, callee))
		case depth[callee] == 0:
			if err := enter(callee); err != nil {
				return err
			}
		}
	}
	return nil
}

// through names the functions between one that calls itself and its call.
func through(stack []frame, callee string) string {
	first := slices.IndexFunc(stack, func(f frame) bool { return f.name == callee })
	var names []string
	for _, f := range stack[first+1:] {
		names = append(names, quote(f.name))
	}
	if len(names) == 0 {
		return ""
	}
	return " through " + shortList(names)
}
