package gradients

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Add adds operations that compute the derivative of the sum of all y with respect
// to each x, and returns them. If dy is not nil, it holds the derivatives of a loss
// with respect to each y, and the results are the derivatives of that loss.
//
// The result for an x that no y depends on is the zero Output. The same holds where the
// only path leads through operations that are constant almost everywhere, such as
// Floor, ArgMax or a cast to integers. An operation on the path without a rule makes
// the scope fail; the error names it.
func Add(s *graph.Scope, y, x, dy []tfbridge.Output) []tfbridge.Output {
	if s.Err() != nil {
		return unbuilt.Outputs(len(x))
	}
	return newWalk(s, nil).gradients(y, x, dy)
}

// tensor names an output of the graph. Two Outputs may be the same output and not be
// equal, because each holds its own pointer.
type tensor struct {
	op    string
	index int
}

func tensorOf(o tfbridge.Output) tensor { return tensor{o.Op.Name(), o.Index} }

// node is an operation between x and y.
type node struct {
	op     *tfbridge.Operation
	name   string
	typ    string
	inputs []tfbridge.Output
	active []bool // whether each input depends on an x
}

// walk adds one set of gradients.
type walk struct {
	scope *graph.Scope
	lib   *library             // nil until a function is called
	loops map[string]*recorded // loops that keep what their gradient needs, by name
	x     map[tensor]bool
	reach map[string]bool // whether an output of each visited operation depends on an x
	order []*node         // operations that depend on an x, inputs first
	sums  map[tensor][]tfbridge.Output

	handles map[tensor]bool       // handles of the variables that rows may be gathered from
	slices  map[tensor][]Gradient // gradients of these rows
}

func newWalk(s *graph.Scope, loops map[string]*recorded) *walk {
	return &walk{
		scope: s, loops: loops, x: map[tensor]bool{}, reach: map[string]bool{}, sums: map[tensor][]tfbridge.Output{},
		handles: map[tensor]bool{}, slices: map[tensor][]Gradient{},
	}
}

// gradients implements Add.
func (w *walk) gradients(y, x, dy []tfbridge.Output) []tfbridge.Output {
	if w.pullAll(y, x, dy); w.scope.Err() != nil {
		return unbuilt.Outputs(len(x))
	}
	dx := make([]tfbridge.Output, len(x))
	for i, o := range x {
		dx[i] = w.sum(tensorOf(o))
	}
	return dx
}

// pullAll takes the derivatives of y to everything between x and y.
func (w *walk) pullAll(y, x, dy []tfbridge.Output) {
	for _, o := range x {
		w.x[tensorOf(o)] = true
	}
	for i, o := range y {
		w.visit(o.Op)
		seed := tfbridge.Output{}
		if dy != nil {
			seed = dy[i]
		} else if trainable(o.DataType()) {
			seed = w.scope.Op1("OnesLike", nil, o)
		}
		w.add(o, seed)
	}
	for i := len(w.order) - 1; i >= 0; i-- {
		if w.pull(w.order[i]); w.scope.Err() != nil {
			return
		}
	}
}

// visit reports whether an operation depends on an x, and appends such operations to
// order. It uses an explicit stack, because graphs are deep.
func (w *walk) visit(root *tfbridge.Operation) {
	type frame struct {
		node *node
		next int
	}
	var stack []*frame
	enter := func(op *tfbridge.Operation) {
		name := op.Name()
		if _, seen := w.reach[name]; seen {
			return
		}
		w.reach[name] = false
		n := &node{op: op, name: name, typ: op.Type()}
		if !constant[n.typ] {
			n.inputs = op.Inputs()
		}
		stack = append(stack, &frame{node: n})
	}
	enter(root)
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		if f.next < len(f.node.inputs) {
			f.next++
			enter(f.node.inputs[f.next-1].Op)
			continue
		}
		stack = stack[:len(stack)-1]
		w.settle(f.node)
	}
}

// settle decides whether a node depends on an x once its inputs are known.
func (w *walk) settle(n *node) {
	n.active = make([]bool, len(n.inputs))
	any := false
	for i, in := range n.inputs {
		gathered := n.typ == "ResourceGather" && w.handles[tensorOf(in)]
		n.active[i] = gathered || differentiable(in.DataType()) && (w.x[tensorOf(in)] || w.reach[in.Op.Name()])
		any = any || n.active[i]
	}
	if any {
		w.order = append(w.order, n)
	}
	w.reach[n.name] = any
}

// add adds to the derivative of an output.
func (w *walk) add(o, d tfbridge.Output) {
	if d.Op != nil {
		t := tensorOf(o)
		w.sums[t] = append(w.sums[t], d)
	}
}

// sum returns the derivative of an output, the zero Output if there is none.
func (w *walk) sum(t tensor) tfbridge.Output {
	parts := w.sums[t]
	switch len(parts) {
	case 0:
		return tfbridge.Output{}
	case 1:
		return parts[0]
	}
	total := w.scope.Op1("AddN", nil, tfbridge.OutputList(parts))
	w.sums[t] = []tfbridge.Output{total}
	return total
}

// pull takes the derivatives of an operation's outputs to its inputs.
func (w *walk) pull(n *node) {
	c := &call{arithmetic: arithmetic{w.scope}, node: n, walk: w}
	some := false
	for i := range n.op.NumOutputs() {
		d := w.sum(tensor{n.name, i})
		c.dy = append(c.dy, d)
		some = some || d.Op != nil
	}
	if !some {
		return
	}
	rule := ruleOf(n.typ)
	if rule == nil {
		w.scope.UpdateErr("gradients", errNoRule(n))
		return
	}
	dx := rule(c)
	if w.scope.Err() != nil {
		return
	}
	for i, in := range n.inputs {
		if i < len(dx) && n.active[i] {
			w.add(in, dx[i])
		}
	}
}

// errNoRule names an operation that cannot be differentiated.
func errNoRule(n *node) error {
	return millrace.Errorf(millrace.ErrModel, "the operation %s of type %s has no derivative; docs/gradients.md lists the types that have one",
		millrace.Quote(n.name), millrace.Quote(n.typ))
}

// trainable reports whether values of a data type have derivatives.
func trainable(dt tfbridge.DataType) bool {
	switch dt {
	case tfbridge.Half, tfbridge.Bfloat16, tfbridge.Float, tfbridge.Double:
		return true
	}
	return false
}

// differentiable reports whether derivatives flow through values of a data type.
// Variants are lists of tensors.
func differentiable(dt tfbridge.DataType) bool { return trainable(dt) || dt == tfbridge.Variant }
