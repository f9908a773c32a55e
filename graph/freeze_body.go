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
	functions map[string]*tfproto.FunctionDef
	roots     map[string]tfproto.DataType // of the graph's own nodes: what they hold
	copies    map[string]*frozenFunction  // by function and which arguments are values
	made      []*tfproto.FunctionDef
}

// frozenFunction is a copy of a function.
type frozenFunction struct {
	name    string
	outputs map[int]tfproto.DataType // the outputs that became values
}

// refs holds the outputs of a body's nodes that became values, by the names that
// inputs use.
type refs map[string]tfproto.DataType

// frozenBody is the nodes of the graph, or of a function.
type frozenBody struct {
	refs     refs
	function bool              // outputs are "node:name:0" instead of "node:0"
	renamed  map[string]string // outputs that have another name now
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

// controlsOf returns a node's control inputs.
func controlsOf(n *tfproto.NodeDef) []string {
	return slices.DeleteFunc(slices.Clone(n.Input), func(in string) bool { return !strings.HasPrefix(in, "^") })
}

// rewrite returns the nodes of a body after the replacement.
func (f *freezer) rewrite(nodes []*tfproto.NodeDef, b *frozenBody) ([]*tfproto.NodeDef, error) {
	b.renamed = map[string]string{}
	done := make([]bool, len(nodes))
	var more []*tfproto.NodeDef
	for changed := true; changed; {
		changed = false
		for i, n := range nodes {
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
		if t, ok := b.refs[strings.TrimSuffix(in, b.first())]; ok {
			if values == nil {
				values = map[int]tfproto.DataType{}
			}
			values[i] = t
		}
	}
	return values
}

// first returns the suffix that the name of a node's first output may omit.
func (b *frozenBody) first() string {
	if b.function {
		return ""
	}
	return ":0"
}

// pass records that outputs of a node are values. In a function the name of an
// output contains its name in the operation's definition.
func (b *frozenBody) pass(n *tfproto.NodeDef, name string, outputs map[int]tfproto.DataType) {
	for i, t := range outputs {
		switch {
		case b.function:
			b.refs[fmt.Sprintf("%s:%s:%d", n.Name, name, i)] = t
		case i == 0:
			b.refs[n.Name] = t
		default:
			b.refs[fmt.Sprintf("%s:%d", n.Name, i)] = t
		}
	}
}

// rewriteNode makes a node take values. It returns nodes to add to the body.
func (f *freezer) rewriteNode(n *tfproto.NodeDef, values map[int]tfproto.DataType, b *frozenBody) ([]*tfproto.NodeDef, error) {
	delete(n.Attr, "_output_shapes")
	t := values[0]
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
		b.pass(n, "output", values)
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
		// GatherV2 gathers behind the batch dimensions.
		axis.Attr["value"].GetTensor().IntVal[0] = int32(a.GetI())
	}
	n.Attr = attrs
	return []*tfproto.NodeDef{axis}
}

// rewriteCall makes a node that calls functions call their copies that take
// values.
func (f *freezer) rewriteCall(n *tfproto.NodeDef, values map[int]tfproto.DataType, b *frozenBody) error {
	skip, in, out := 0, "Tin", "Tout"
	switch n.Op {
	case "PartitionedCall", "StatefulPartitionedCall":
	case "If", "StatelessIf", "Case", "StatelessCase":
		skip = 1
	case "While", "StatelessWhile":
		in, out = "T", "T"
	default:
		if f.functions[n.Op] == nil {
			return millrace.Errorf(millrace.ErrModel, "node %s (%s) needs a variable itself, not its value",
				millrace.Quote(n.Name), millrace.Quote(n.Op))
		}
		in, out = "", ""
	}
	args := map[int]tfproto.DataType{}
	for i, t := range values {
		args[i-skip] = t
		if list := n.Attr[in].GetList(); in != "" && i-skip >= 0 && i-skip < len(list.GetType()) {
			list.Type[i-skip] = t
		}
	}
	outputs, err := f.copyCallees(n, args, in == "")
	if err != nil {
		return err
	}
	delete(n.Attr, "_read_only_resource_inputs")
	delete(n.Attr, "output_shapes") // says what a handle's shape is; inferred again
	for i, t := range outputs {
		if list := n.Attr[out].GetList(); out != "" && i < len(list.GetType()) {
			list.Type[i] = t
		}
	}
	b.pass(n, "output", outputs)
	return nil
}

// copyCallees gives a node the copies of the functions it calls, and returns
// which of its outputs are values.
func (f *freezer) copyCallees(n *tfproto.NodeDef, args map[int]tfproto.DataType, direct bool) (map[int]tfproto.DataType, error) {
	outputs := map[int]tfproto.DataType{}
	take := func(name string) (string, error) {
		made, err := f.copyOf(name, args)
		if err != nil {
			return "", err
		}
		maps.Copy(outputs, made.outputs)
		return made.name, nil
	}
	var err error
	if direct {
		n.Op, err = take(n.Op)
		return outputs, err
	}
	for _, key := range slices.Sorted(maps.Keys(n.Attr)) {
		callees := n.Attr[key].GetList().GetFunc()
		if one := n.Attr[key].GetFunc(); one != nil {
			callees = append(callees, one)
		}
		for _, callee := range callees {
			if callee.Name, err = take(callee.Name); err != nil {
				return nil, err
			}
		}
	}
	return outputs, nil
}

// copyOf returns the copy of a function whose arguments args are values.
func (f *freezer) copyOf(name string, args map[int]tfproto.DataType) (*frozenFunction, error) {
	key := fmt.Sprint(name, args) // maps print in order
	if made, ok := f.copies[key]; ok {
		return made, nil
	}
	original, ok := f.functions[name]
	if !ok {
		return nil, millrace.Errorf(millrace.ErrModel, "there is no function %s", millrace.Quote(name))
	}
	made := &frozenFunction{name: f.unused(name + "_frozen"), outputs: map[int]tfproto.DataType{}}
	f.copies[key] = made
	fn := proto.Clone(original).(*tfproto.FunctionDef)
	fn.Signature.Name = made.name
	f.functions[made.name] = fn
	b := &frozenBody{refs: refs{}, function: true}
	for i, t := range args {
		if i < 0 || i >= len(fn.Signature.InputArg) {
			return nil, millrace.Errorf(millrace.ErrModel, "function %s has no argument %d", millrace.Quote(name), i)
		}
		arg := fn.Signature.InputArg[i]
		arg.Type, arg.HandleData = t, nil
		b.refs[arg.Name] = t
		delete(fn.ArgAttr, uint32(i))
		delete(fn.ResourceArgUniqueId, uint32(i))
	}
	var err error
	if fn.NodeDef, err = f.rewrite(fn.NodeDef, b); err != nil {
		return nil, err
	}
	for i, out := range fn.Signature.OutputArg {
		ref := fn.Ret[out.Name]
		if to, ok := b.renamed[ref]; ok {
			fn.Ret[out.Name] = to
		}
		if t, ok := b.refs[ref]; ok {
			out.Type, out.HandleData = t, nil
			made.outputs[i] = t
		}
	}
	f.made = append(f.made, fn)
	return made, nil
}

// unused returns a name that no function has.
func (f *freezer) unused(name string) string {
	candidate := name
	for i := 1; f.functions[candidate] != nil; i++ {
		candidate = fmt.Sprintf("%s_%d", name, i)
	}
	return candidate
}
