package graph

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph/internal/inputcheck"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// maxGraphDef is the largest size of a protobuf message.
const maxGraphDef = 1<<31 - 1

// Freeze returns the part of the model that a signature needs, as a GraphDef in
// which constants replace the variables. An empty key means [DefaultSignature]. The
// constants have the values of the variables in the model's session. Operations to
// feed and fetch keep their names. [ImportModel] loads the result without a folder
// of variables.
//
// An operation that changes a variable, or needs something else that is made at
// load, such as a table, cannot be frozen: an error of class ErrModel names it. A
// GraphDef larger than 2 GiB is an error of class ErrLimit. Freeze may run
// concurrently with other calls. It adds operations that read the variables to the
// graph.
func (m *Model) Freeze(ctx context.Context, key string) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	key = cmp.Or(key, DefaultSignature)
	sig, ok := m.Signatures()[key]
	if !ok {
		return nil, m.signatureErrorf(key, "freeze: there is no such signature")
	}
	var outputs []string
	for _, name := range slices.Sorted(maps.Keys(sig.Outputs)) {
		outputs = append(outputs, sig.Outputs[name].Name)
	}
	def, _, err := m.freeze(ctx, outputs, nil)
	if err != nil {
		return nil, m.freezeError(key, err)
	}
	return def, nil
}

// freeze returns the graph of outputs with constants for variables. It may have nodes that keep
// accepts, which it lists, although they stand for something that is made at load.
func (m *Model) freeze(ctx context.Context, outputs []string, keep func(*tfproto.NodeDef) bool) (def []byte, kept []*tfproto.NodeDef, err error) {
	var b bytes.Buffer
	if _, err := m.graph.WriteTo(&b); err != nil {
		return nil, nil, err
	}
	g, err := parseGraphDef(b.Bytes())
	if err != nil {
		return nil, nil, err
	}
	inputcheck.Remove(g)
	if err := prune(g, outputs); err != nil {
		return nil, nil, err
	}
	variables := variablesOf(g.Node)
	values, err := m.read(ctx, variables)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		for _, v := range values {
			v.Close()
		}
	}()
	f := newFreezer(g)
	for i, n := range variables {
		if err := f.constant(n, values[i]); err != nil {
			return nil, nil, err
		}
	}
	if g.Node, err = f.rewrite(g.Node, newBody(f.roots, false)); err != nil {
		return nil, nil, err
	}
	g.Library.Function = append(g.Library.GetFunction(), f.made...)
	if err := prune(g, outputs); err != nil {
		return nil, nil, err
	}
	if n := proto.Size(g); n > maxGraphDef {
		return nil, nil, millrace.Errorf(millrace.ErrLimit, "the graph would take %d bytes, a GraphDef holds at most %d", n, maxGraphDef)
	}
	allowed := map[string]bool{}
	for _, n := range g.Node {
		if keep != nil && keep(n) {
			kept, allowed[n.Name] = append(kept, n), true
		}
	}
	if def, err = (proto.MarshalOptions{Deterministic: true}).Marshal(g); err != nil {
		return nil, nil, err
	}
	return def, kept, selfContained(def, allowed)
}

// selfContained lets TensorFlow check a frozen graph, and refuses operations that
// need something made when the model is loaded, but for the allowed ones.
func selfContained(def []byte, allowed map[string]bool) error {
	g := tfbridge.NewGraph()
	defer g.Close()
	if err := g.Import(def, ""); err != nil {
		return err
	}
	for _, op := range g.Operations() {
		for i := range op.NumOutputs() {
			if op.Output(i).DataType() == tfbridge.Resource && !allowed[op.Name()] {
				return millrace.Errorf(millrace.ErrModel, "node %s (%s) stands for something that is made when the model is loaded",
					millrace.Quote(op.Name()), op.Type())
			}
		}
	}
	return nil
}

// variablesOf returns the nodes that are variables.
func variablesOf(nodes []*tfproto.NodeDef) []*tfproto.NodeDef {
	var found []*tfproto.NodeDef
	for _, n := range nodes {
		switch n.Op {
		case "VarHandleOp", "VariableV2", "Variable":
			found = append(found, n)
		}
	}
	return found
}

// read returns the variables' values.
func (m *Model) read(ctx context.Context, variables []*tfproto.NodeDef) ([]*tfbridge.Tensor, error) {
	if len(variables) == 0 {
		return nil, nil
	}
	s := NewScopeWithGraph(m.graph).SubScope("freeze")
	fetches := make([]tfbridge.Output, len(variables))
	for i, n := range variables {
		handle, err := m.Op(n.Name, 0)
		if err != nil {
			return nil, err
		}
		if n.Op == "VarHandleOp" {
			handle = s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.DataType(n.Attr["dtype"].GetType())}, handle)
		}
		fetches[i] = handle
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return m.session.RunContext(ctx, nil, fetches, nil)
}

// tensorProto returns a tensor's value as a message.
func tensorProto(t *tfbridge.Tensor) (*tfproto.TensorProto, error) {
	p := &tfproto.TensorProto{Dtype: tfproto.DataType(t.DataType()), TensorShape: &tfproto.TensorShapeProto{}}
	for _, n := range t.Shape() {
		p.TensorShape.Dim = append(p.TensorShape.Dim, &tfproto.TensorShapeProto_Dim{Size: n})
	}
	if t.DataType() == tfbridge.String {
		values, err := t.Strings()
		for _, v := range values {
			p.StringVal = append(p.StringVal, []byte(v))
		}
		return p, err
	}
	raw, err := t.Bytes()
	p.TensorContent = bytes.Clone(raw)
	return p, err
}

// HandleSuffix is what [ByValue] appends to the name of a variable's node to name
// the node that holds its handle.
const HandleSuffix = "/handle"

// PreviousAttr is the attribute of a node that [ByValue] makes of an assignment: the ref of
// the variable's value before. From a variable's last value it leads to all others.
const PreviousAttr = "_previous"

// ByValue returns the part of a GraphDef that outputs need, rewritten so that it has no
// side effects on resource variables. Functions take the values of variables in place
// of their handles: each variable is read once, outside of all functions. The node of a
// variable becomes a ReadVariableOp of its name; the handle gets a name with
// [HandleSuffix]. The rewritten graph returns new values instead of assigning them:
// changed maps the node of each changed variable to the tensor with its new value.
//
// Derivatives need that form: a handle has none. An operation that uses a variable
// in another way than to read it or to assign, add or subtract a value is an error of
// class ErrModel that names it. Freezing a model does the same with the values
// themselves, and refuses every change.
func ByValue(def *tfproto.GraphDef, outputs ...string) (byValue *tfproto.GraphDef, changed map[string]string, err error) {
	g := proto.Clone(def).(*tfproto.GraphDef)
	if err := prune(g, outputs); err != nil {
		return nil, nil, err
	}
	f := newFreezer(g)
	f.byValue = true
	var handles []*tfproto.NodeDef
	for _, n := range variablesOf(g.Node) {
		if n.Op != "VarHandleOp" {
			continue // TensorFlow 1's variables are values
		}
		handle := proto.Clone(n).(*tfproto.NodeDef)
		handle.Name += HandleSuffix
		handles = append(handles, handle)
		f.roots[n.Name] = n.Attr["dtype"].GetType()
		n.Op, n.Input = "ReadVariableOp", append([]string{handle.Name}, controlsOf(n)...)
		n.Attr = map[string]*tfproto.AttrValue{"dtype": n.Attr["dtype"]}
	}
	b := newBody(f.roots, false)
	if g.Node, err = f.rewrite(g.Node, b); err != nil {
		return nil, nil, err
	}
	needed := outputs
	for variable, ref := range b.now {
		needed = append(needed[:len(needed):len(needed)], ref, variable) // a variable that is only assigned is needed too
	}
	g.Node = append(g.Node, handles...)
	g.Library.Function = append(g.Library.GetFunction(), f.made...)
	return g, b.now, prune(g, needed)
}

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

// take replaces each input that was a variable's handle by the variable's present
// value.
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
	n.Op, n.Attr = "StopGradient", map[string]*tfproto.AttrValue{"T": typeAttr(t), PreviousAttr: stringAttr(old)}
	b.set(variable, b.ref(n, "output", 0))
	return more
}

// set records the ref of a variable's new value.
func (b *frozenBody) set(variable, ref string) {
	b.now[variable], b.origins[ref] = ref, variable
}

// copying describes how to copy a function, and which of its arguments become values.
type copying struct {
	args  map[int]tfproto.DataType // the arguments that are values now
	loop  bool                     // the function is the body of a loop
	state map[int]bool             // arguments whose values the copy has to return, changed or not
}

// returnState adds the new values of a function's changed arguments, and of the
// arguments in how.state, to its results. In a loop's body they take the place of the
// results that passed on the handles.
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
