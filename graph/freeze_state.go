package graph

import (
	"fmt"
	"maps"
	"slices"

	"millrace"
	"millrace/internal/base/tfproto"
)

// # State as values
//
// A signature in training mode changes variables: moving statistics, the seeds of
// random operations, the sums of metrics. A derivative needs a program without side
// effects. So a body that changes a variable computes the variable's new value
// instead, and whoever calls it receives that value as one more result:
//
//	f(h):                                 f(v):
//	  a = ReadVariableOp(h)                 a = Identity(v)
//	  AssignVariableOp(h, a + 1)            n = StopGradient(a + 1)
//	  b = ReadVariableOp(h)       -->       b = Identity(n)
//	  return b                              return b, n
//
// TensorFlow orders the operations on one variable by control dependencies. In that
// order each read takes the value of the last assignment before it. A loop carries the
// value as one of its variables; both branches of a condition return it. Nothing flows
// back through an assignment in TensorFlow, hence StopGradient.

// assignments are the operations that set a variable, with the operation that computes
// the new value from the old one; "": the new value is given.
var assignments = map[string]string{"AssignVariableOp": "", "AssignAddVariableOp": "AddV2", "AssignSubVariableOp": "Sub"}

// ref returns the name of a node's output number i as inputs of the body give it. name
// is the output's name in the operation's definition.
func (b *frozenBody) ref(n *tfproto.NodeDef, name string, i int) string {
	switch {
	case b.function:
		return fmt.Sprintf("%s:%s:%d", n.Name, name, i)
	case i == 0:
		return n.Name
	}
	return fmt.Sprintf("%s:%d", n.Name, i)
}

// take lets an input that held a variable's handle take the variable's present value.
func (b *frozenBody) take(n *tfproto.NodeDef, inputs map[int]tfproto.DataType) {
	for i := range inputs {
		n.Input[i] = b.present(n.Input[i])
	}
}

// present returns the ref of the present value of the variable whose handle an input
// held.
func (b *frozenBody) present(input string) string {
	if now, ok := b.now[b.variable(input)]; ok {
		return now
	}
	return input
}

// variable returns the variable that an input holds: the ref that its handle started
// from.
func (b *frozenBody) variable(input string) string { return b.origins[b.canonical(input)] }

// assign turns an assignment into the value that it assigns. It returns a node to add.
func (f *freezer) assign(n *tfproto.NodeDef, t tfproto.DataType, b *frozenBody) []*tfproto.NodeDef {
	variable, compute := b.variable(n.Input[0]), assignments[n.Op]
	old, value := b.present(n.Input[0]), n.Input[1]
	var more []*tfproto.NodeDef
	if compute != "" {
		sum := &tfproto.NodeDef{
			Name: n.Name + "/assigned", Op: compute, Device: n.Device, Input: []string{old, value}, Attr: map[string]*tfproto.AttrValue{"T": typeAttr(t)},
		}
		more, value = append(more, sum), b.ref(sum, "z", 0)
	}
	n.Input = append([]string{value}, controlsOf(n)...)
	n.Op, n.Attr = "StopGradient", map[string]*tfproto.AttrValue{"T": typeAttr(t)}
	b.set(variable, b.ref(n, "output", 0))
	return more
}

// set records the ref of a variable's new value.
func (b *frozenBody) set(variable, ref string) {
	b.now[variable], b.origins[ref] = ref, variable
}

// copying says how to copy a function, and what became of its arguments.
type copying struct {
	args  map[int]tfproto.DataType // the arguments that are values now
	loop  bool                     // the function is the body of a loop
	state map[int]bool             // arguments whose values the copy has to return, changed or not
}

// returnState adds the new values of a function's changed arguments, and of those that
// how names, to its results. In a loop's body they take the place of the results that
// handed on the handles.
func (f *frozenFunction) returnState(fn *tfproto.FunctionDef, b *frozenBody, how *copying) error {
	for _, i := range slices.Sorted(maps.Keys(how.args)) {
		arg := fn.Signature.InputArg[i]
		now, changed := b.now[arg.Name]
		if !changed && !how.state[i] {
			continue
		}
		f.state = append(f.state, i)
		if from, handed := f.handles[i]; how.loop && (!handed || from != i) {
			return millrace.Errorf(millrace.ErrModel, "the loop's body %s changes a variable and hands on another one", millrace.Quote(fn.Signature.Name))
		}
		if how.loop {
			continue
		}
		if !changed {
			now = arg.Name
		}
		name := fmt.Sprintf("changed%d", i)
		fn.Signature.OutputArg = append(fn.Signature.OutputArg, &tfproto.OpDef_ArgDef{Name: name, Type: how.args[i]})
		fn.Ret[name] = now
	}
	return nil
}

// receiveState records the new values of variables that a function has changed.
func (c *calling) receiveState(made *frozenFunction, loop bool) error {
	n, b := c.node, c.body
	given := map[string]int{}
	for i := range n.Input {
		if v := b.variable(n.Input[i]); v != "" {
			given[v]++
		}
	}
	for _, i := range made.state {
		variable := b.variable(n.Input[i+c.skip])
		if given[variable] > 1 {
			return millrace.Errorf(millrace.ErrModel, "node %s (%s) gets the variable %s more than once, and changes it",
				millrace.Quote(n.Name), millrace.Quote(n.Op), millrace.Quote(variable))
		}
		switch {
		case loop:
			b.set(variable, b.ref(n, "output", i))
		case c.out == "":
			b.set(variable, b.ref(n, fmt.Sprintf("changed%d", i), 0))
		default:
			types := n.Attr[c.out].GetList()
			b.set(variable, b.ref(n, "output", len(types.GetType())))
			types.Type = append(types.Type, made.args[i])
		}
	}
	return nil
}

// inOrder returns the numbers of nodes, each after its inputs and control
// dependencies. Where a loop of TensorFlow 1 has a cycle, nodes keep their order.
func inOrder(nodes []*tfproto.NodeDef) []int {
	byName := make(map[string]int, len(nodes))
	for i, n := range nodes {
		byName[n.Name] = i
	}
	order, seen := make([]int, 0, len(nodes)), make([]bool, len(nodes))
	type frame struct{ node, next int }
	for root := range nodes {
		stack := []frame{}
		enter := func(i int) {
			if !seen[i] {
				seen[i] = true
				stack = append(stack, frame{node: i})
			}
		}
		enter(root)
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			inputs := nodes[top.node].Input
			if top.next == len(inputs) {
				order = append(order, top.node)
				stack = stack[:len(stack)-1]
				continue
			}
			top.next++
			if i, ok := byName[nodeOf(inputs[top.next-1])]; ok {
				enter(i)
			}
		}
	}
	return order
}
