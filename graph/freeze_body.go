package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// freezer rewrites a graph in which constants replace variables. The handle of a
// variable passes through nodes and into functions. The freezer follows it: nodes
// that read a variable now get the value, and a function that takes a handle is
// copied to one that takes the value.
type freezer struct {
	byValue   bool // variables may change, see freeze.go
	functions map[string]*tfproto.FunctionDef
	roots     map[string]tfproto.DataType // data types of the graph's own nodes that became values
	copies    map[string]*frozenFunction  // key: a function, and which of its arguments are values
	made      []*tfproto.FunctionDef
}

// frozenFunction is a copy of a function.
type frozenFunction struct {
	name    string
	args    map[int]tfproto.DataType // the arguments that became values
	outputs map[int]tfproto.DataType // the outputs that became values
	handles map[int]int              // key: an output; value: the argument that it passes on
	state   []int                    // the arguments whose new values are appended to the results
}

// refs holds the outputs of a body's nodes that became values, by the names that
// inputs use.
type refs map[string]tfproto.DataType

// frozenBody is the nodes of the graph, or of a function.
type frozenBody struct {
	refs     refs
	function bool              // outputs are "node:name:0" instead of "node:0"
	renamed  map[string]string // outputs that have another name now
	origins  map[string]string // key: a handle; value: the ref of the variable that it came from
	now      map[string]string // the refs of the values assigned last, by origin
}

// newBody returns a body in which refs hold variables, all different.
func newBody(values refs, function bool) *frozenBody {
	b := &frozenBody{refs: values, function: function, origins: map[string]string{}, now: map[string]string{}}
	for ref := range values {
		b.origins[ref] = ref
	}
	return b
}

func newFreezer(g *tfproto.GraphDef) *freezer {
	f := &freezer{functions: map[string]*tfproto.FunctionDef{}, roots: refs{}, copies: map[string]*frozenFunction{}}
	if g.Library == nil {
		g.Library = &tfproto.FunctionDefLibrary{}
	}
	for _, fn := range g.Library.Function {
		f.functions[fn.GetSignature().GetName()] = fn
	}
	return f
}

// constant turns a variable into a constant.
func (f *freezer) constant(n *tfproto.NodeDef, value *tfbridge.Tensor) error {
	p, err := tensorProto(value)
	if err != nil {
		return err
	}
	if n.Op == "VarHandleOp" {
		f.roots[n.Name] = p.Dtype
	} else if n.Attr["dtype"].GetType() != p.Dtype {
		return millrace.Errorf(millrace.ErrModel, "variable %s holds %v", millrace.Quote(n.Name), value.DataType())
	}
	n.Op, n.Input = "Const", controlsOf(n)
	n.Attr = map[string]*tfproto.AttrValue{"dtype": typeAttr(p.Dtype), "value": {Value: &tfproto.AttrValue_Tensor{Tensor: p}}}
	return nil
}

func typeAttr(t tfproto.DataType) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: t}}
}

func stringAttr(s string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(s)}}
}

// controlsOf returns a node's control inputs.
func controlsOf(n *tfproto.NodeDef) []string {
	return slices.DeleteFunc(slices.Clone(n.Input), func(in string) bool { return !strings.HasPrefix(in, "^") })
}

// rewrite returns the nodes of a body after the replacement.
func (f *freezer) rewrite(nodes []*tfproto.NodeDef, b *frozenBody) ([]*tfproto.NodeDef, error) {
	b.renamed = map[string]string{}
	done := make([]bool, len(nodes))
	var more []*tfproto.NodeDef
	order := inOrder(nodes)
	for changed := true; changed; {
		changed = false
		for _, i := range order {
			n := nodes[i]
			values := b.values(n)
			if done[i] || len(values) == 0 {
				continue
			}
			done[i], changed = true, true
			extra, err := f.rewriteNode(n, values, b)
			if err != nil {
				return nil, err
			}
			more = append(more, extra...)
		}
	}
	for _, n := range nodes {
		for i, in := range n.Input {
			if to, ok := b.renamed[in]; ok {
				n.Input[i] = to
			}
		}
	}
	return append(nodes, more...), nil
}

// values returns the inputs of a node that became values.
func (b *frozenBody) values(n *tfproto.NodeDef) map[int]tfproto.DataType {
	var values map[int]tfproto.DataType
	for i, in := range n.Input {
		if t, ok := b.refs[b.canonical(in)]; ok {
			if values == nil {
				values = map[int]tfproto.DataType{}
			}
			values[i] = t
		}
	}
	return values
}

// canonical returns an input without the number of a node's first output, which may be
// omitted.
func (b *frozenBody) canonical(input string) string {
	if b.function {
		return input
	}
	return strings.TrimSuffix(input, ":0")
}

// pass records that output i of a node now is the value of a variable: the same
// variable whose handle the given input was. In a function the name of an output contains its name in the operation's
// definition.
func (b *frozenBody) pass(n *tfproto.NodeDef, name string, i int, t tfproto.DataType, input string) {
	ref := b.ref(n, name, i)
	b.refs[ref], b.origins[ref] = t, b.variable(input)
}

// rewriteNode makes a node take values. It returns nodes to add to the body.
func (f *freezer) rewriteNode(n *tfproto.NodeDef, values map[int]tfproto.DataType, b *frozenBody) ([]*tfproto.NodeDef, error) {
	delete(n.Attr, "_output_shapes")
	t := values[0]
	if _, ok := assignments[n.Op]; ok && f.byValue && len(values) == 1 && t != 0 {
		return f.assign(n, t, b), nil
	}
	handle := n.Input[0]
	b.take(n, values)
	switch n.Op {
	case "ReadVariableOp":
		n.Op, n.Attr = "Identity", map[string]*tfproto.AttrValue{"T": typeAttr(t)}
		b.renamed[n.Name+":value:0"] = n.Name + ":output:0"
	case "VariableShape":
		n.Op = "Shape"
		n.Attr["T"] = typeAttr(t)
	case "DisableCopyOnRead":
		n.Op, n.Input, n.Attr = "NoOp", controlsOf(n), nil
	case "ResourceGather":
		return gather(n, t, b), nil
	case "ResourceGatherNd":
		n.Op = "GatherNd"
		n.Attr = map[string]*tfproto.AttrValue{"Tparams": typeAttr(t), "Tindices": n.Attr["Tindices"]}
	case "Identity":
		n.Attr["T"] = typeAttr(t)
		b.pass(n, "output", 0, t, handle)
	default:
		return nil, f.rewriteCall(n, values, b)
	}
	return nil, nil
}

// gather turns a ResourceGather into a GatherV2, with the axis it needs.
func gather(n *tfproto.NodeDef, t tfproto.DataType, b *frozenBody) []*tfproto.NodeDef {
	axis := &tfproto.NodeDef{Name: n.Name + "/frozen_axis", Op: "Const", Device: n.Device, Attr: map[string]*tfproto.AttrValue{
		"dtype": typeAttr(tfproto.DataType_DT_INT32),
		"value": {Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{
			Dtype: tfproto.DataType_DT_INT32, TensorShape: &tfproto.TensorShapeProto{}, IntVal: []int32{0},
		}}},
	}}
	ref := axis.Name
	if b.function {
		ref += ":output:0"
	}
	n.Op = "GatherV2"
	n.Input = slices.Insert(n.Input, 2, ref)
	attrs := map[string]*tfproto.AttrValue{
		"Tparams": typeAttr(t), "Tindices": n.Attr["Tindices"], "Taxis": typeAttr(tfproto.DataType_DT_INT32),
	}
	if a, ok := n.Attr["batch_dims"]; ok {
		attrs["batch_dims"] = a
		// GatherV2 gathers after the batch dimensions.
		axis.Attr["value"].GetTensor().IntVal[0] = int32(a.GetI())
	}
	n.Attr = attrs
	return []*tfproto.NodeDef{axis}
}

// calling is a node that calls functions with values in the place of handles.
type calling struct {
	freezer *freezer
	node    *tfproto.NodeDef
	body    *frozenBody
	skip    int    // inputs of the node before the functions' arguments
	in, out string // attributes with the types of arguments and results; "": the node's type is the function
	args    map[int]tfproto.DataType
}

// rewriteCall makes a node that calls functions call their copies that take
// values.
func (f *freezer) rewriteCall(n *tfproto.NodeDef, values map[int]tfproto.DataType, b *frozenBody) error {
	c := &calling{freezer: f, node: n, body: b, in: "Tin", out: "Tout", args: map[int]tfproto.DataType{}}
	callee := c.call
	switch n.Op {
	case "PartitionedCall", "StatefulPartitionedCall":
	case "If", "StatelessIf", "Case", "StatelessCase":
		c.skip, callee = 1, c.branches
	case "While", "StatelessWhile":
		c.in, c.out, callee = "T", "T", c.loop
	default:
		if f.functions[n.Op] == nil {
			return millrace.Errorf(millrace.ErrModel, "node %s (%s) needs a variable itself, not its value",
				millrace.Quote(n.Name), millrace.Quote(n.Op))
		}
		c.in, c.out = "", ""
	}
	for i, t := range values {
		c.args[i-c.skip] = t
		if list := n.Attr[c.in].GetList(); c.in != "" && i-c.skip >= 0 && i-c.skip < len(list.GetType()) {
			list.Type[i-c.skip] = t
		}
	}
	delete(n.Attr, "_read_only_resource_inputs")
	delete(n.Attr, "output_shapes") // says what a handle's shape is; inferred again
	return callee()
}

// call makes a node call the copies of all functions that its attributes name, or that
// its type is.
func (c *calling) call() error {
	if c.out == "" {
		made, err := c.freezer.copyOf(c.node.Op, &copying{args: c.args})
		if err != nil {
			return err
		}
		c.node.Op = made.name
		return c.receive(made, false)
	}
	var last *frozenFunction
	for _, callee := range c.callees() {
		made, err := c.freezer.copyOf(callee.Name, &copying{args: c.args})
		if err != nil {
			return err
		}
		callee.Name, last = made.name, made
	}
	if last == nil {
		return nil
	}
	return c.receive(last, false)
}

// callees returns the functions that the node's attributes name.
func (c *calling) callees() []*tfproto.NameAttrList {
	var all []*tfproto.NameAttrList
	for _, key := range slices.Sorted(maps.Keys(c.node.Attr)) {
		all = append(all, c.node.Attr[key].GetList().GetFunc()...)
		if one := c.node.Attr[key].GetFunc(); one != nil {
			all = append(all, one)
		}
	}
	return all
}

// branches makes a condition call copies of its branches. All of them return the
// variables that one of them changes.
func (c *calling) branches() error {
	state := map[int]bool{}
	for _, callee := range c.callees() {
		made, err := c.freezer.copyOf(callee.Name, &copying{args: c.args})
		if err != nil {
			return err
		}
		for _, i := range made.state {
			state[i] = true
		}
	}
	all := &frozenFunction{args: c.args, outputs: map[int]tfproto.DataType{}, handles: map[int]int{}}
	for _, callee := range c.callees() {
		made, err := c.freezer.copyOf(callee.Name, &copying{args: c.args, state: state})
		if err != nil {
			return err
		}
		callee.Name, all.state = made.name, made.state
		maps.Copy(all.outputs, made.outputs)
		maps.Copy(all.handles, made.handles)
	}
	return c.receive(all, false)
}

// loop makes a loop call the copies of its condition and body.
func (c *calling) loop() error {
	cond, body := c.node.Attr["cond"].GetFunc(), c.node.Attr["body"].GetFunc()
	if cond == nil || body == nil {
		return millrace.Errorf(millrace.ErrModel, "node %s (%s) lacks its condition or body", millrace.Quote(c.node.Name), millrace.Quote(c.node.Op))
	}
	check, err := c.freezer.copyOf(cond.Name, &copying{args: c.args})
	if err != nil {
		return err
	}
	if len(check.state) > 0 {
		return millrace.Errorf(millrace.ErrModel, "the condition of the loop %s changes a variable", millrace.Quote(c.node.Name))
	}
	made, err := c.freezer.copyOf(body.Name, &copying{args: c.args, loop: true})
	if err != nil {
		return err
	}
	cond.Name, body.Name = check.name, made.name
	return c.receive(made, true)
}

// receive records what became of the node's outputs.
func (c *calling) receive(made *frozenFunction, loop bool) error {
	for i, t := range made.outputs {
		if list := c.node.Attr[c.out].GetList(); c.out != "" && i < len(list.GetType()) {
			list.Type[i] = t
		}
		handle := ""
		if from, ok := made.handles[i]; ok {
			handle = c.node.Input[from+c.skip]
		}
		c.body.pass(c.node, "output", i, t, handle)
	}
	return c.receiveState(made, loop)
}

// copyOf returns the copy of a function whose arguments are values as how says.
func (f *freezer) copyOf(name string, how *copying) (*frozenFunction, error) {
	key := fmt.Sprint(name, how.args, how.loop, how.state) // maps print in order
	if made, ok := f.copies[key]; ok {
		return made, nil
	}
	original, ok := f.functions[name]
	if !ok {
		return nil, millrace.Errorf(millrace.ErrModel, "there is no function %s", millrace.Quote(name))
	}
	made := &frozenFunction{name: f.unused(name + "_frozen"), args: how.args, outputs: map[int]tfproto.DataType{}, handles: map[int]int{}}
	f.copies[key] = made
	fn := proto.Clone(original).(*tfproto.FunctionDef)
	fn.Signature.Name = made.name
	f.functions[made.name] = fn
	values := refs{}
	for i, t := range how.args {
		if i < 0 || i >= len(fn.Signature.InputArg) {
			return nil, millrace.Errorf(millrace.ErrModel, "function %s has no argument %d", millrace.Quote(name), i)
		}
		arg := fn.Signature.InputArg[i]
		arg.Type, arg.HandleData = t, nil
		values[arg.Name] = t
		delete(fn.ArgAttr, uint32(i))
		delete(fn.ResourceArgUniqueId, uint32(i))
	}
	b := newBody(values, true)
	var err error
	if fn.NodeDef, err = f.rewrite(fn.NodeDef, b); err != nil {
		return nil, err
	}
	made.returned(fn, b)
	if err := made.returnState(fn, b, how); err != nil {
		return nil, err
	}
	f.made = append(f.made, fn)
	return made, nil
}

// returned gives the results of a function their new names. A result that was a handle
// becomes the value that the variable has at the end.
func (f *frozenFunction) returned(fn *tfproto.FunctionDef, b *frozenBody) {
	number := map[string]int{}
	for i, arg := range fn.Signature.InputArg {
		number[arg.Name] = i
	}
	for i, out := range fn.Signature.OutputArg {
		ref := fn.Ret[out.Name]
		if to, ok := b.renamed[ref]; ok {
			fn.Ret[out.Name] = to
		}
		t, ok := b.refs[ref]
		if !ok {
			continue
		}
		out.Type, out.HandleData = t, nil
		f.outputs[i], fn.Ret[out.Name] = t, b.present(ref)
		if from, ok := number[b.variable(ref)]; ok {
			f.handles[i] = from
		}
	}
}

// unused returns a name that no function has.
func (f *freezer) unused(name string) string {
	candidate := name
	for i := 1; f.functions[candidate] != nil; i++ {
		candidate = fmt.Sprintf("%s_%d", name, i)
	}
	return candidate
}
