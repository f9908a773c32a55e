package modeltest

import (
	"millrace/internal/base/tfproto"
)

// Node makes a NodeDef with string as its type.
func Node(name, op string, inputs ...string) *tfproto.NodeDef {
	return &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{
		"dtype": {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_STRING}},
		"T":     {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_STRING}},
	}}
}

// With adds an attribute to a node.
func With(n *tfproto.NodeDef, name string, v *tfproto.AttrValue) *tfproto.NodeDef {
	n.Attr[name] = v
	return n
}

// Text makes an attribute of a string.
func Text(s string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(s)}}
}

// Func makes an attribute that names a function.
func Func(name string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: name}}}
}

// Const makes a Const of strings.
func Const(name string, values ...string) *tfproto.NodeDef {
	tensor := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING}
	for _, v := range values {
		tensor.StringVal = append(tensor.StringVal, []byte(v))
	}
	return With(Node(name, "Const"), "value", &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: tensor}})
}

// Function makes a function of strings with an output "out".
func Function(name string, args []string, body ...*tfproto.NodeDef) *tfproto.FunctionDef {
	sig := &tfproto.OpDef{Name: name, OutputArg: []*tfproto.OpDef_ArgDef{{Name: "out", Type: tfproto.DataType_DT_STRING}}}
	for _, a := range args {
		sig.InputArg = append(sig.InputArg, &tfproto.OpDef_ArgDef{Name: a, Type: tfproto.DataType_DT_STRING})
	}
	return &tfproto.FunctionDef{Signature: sig, NodeDef: body}
}

// Call makes a node that calls a function.
func Call(name, callee string, inputs ...string) *tfproto.NodeDef {
	return With(With(Node(name, "PartitionedCall", inputs...), "f", Func(callee)), "Tout", &tfproto.AttrValue{
		Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: []tfproto.DataType{tfproto.DataType_DT_STRING}}}})
}

// ConstOf makes a Const of a tensor.
func ConstOf(name string, tensor *tfproto.TensorProto) *tfproto.NodeDef {
	n := With(Node(name, "Const"), "value", &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: tensor}})
	return With(n, "dtype", &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tensor.GetDtype()}})
}
