package savedmodel

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
)

// placeholder makes an attribute whose value the callers of a function set.
func placeholder(name string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Placeholder{Placeholder: name}}
}

// listOf makes a list of tensors, with the metadata that TensorFlow's parser reads.
func listOf(metadata string, tensors ...*tfproto.TensorProto) *tfproto.TensorProto {
	return &tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT, VariantVal: []*tfproto.VariantTensorDataProto{
		{TypeName: "tensorflow::TensorList", Metadata: []byte(metadata), Tensors: tensors}}}
}

// floatList makes a tensor of n floats.
func floatList(n int64) *tfproto.TensorProto {
	return &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: []float32{1},
		TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: n}}}}
}

// attributedNode makes a node of x with one attribute.
func attributedNode(op, name string, v *tfproto.AttrValue) *tfproto.NodeDef {
	n := with(node("n", op), name, v)
	n.Input = []string{"x"}
	return n
}

// Graphs that cannot be checked, or that contain values which their operations cannot
// have made, are refused with the location.
func TestRefusedGraphs(t *testing.T) {
	y := node("y", "Identity", "x")
	with := func(more *tfproto.NodeDef, functions ...*tfproto.FunctionDef) *tfproto.SavedModel {
		return graph([]*tfproto.NodeDef{y, more}, functions...)
	}
	attributed := func(kind, left string) *tfproto.FunctionDef {
		f := functionOf("f", []string{"in"}, node("n", "Identity", "in"))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "A", Type: kind}}
		f.NodeDef[0].Attr[left] = placeholder("A")
		return f
	}
	variant := func(name string) *tfproto.TensorProto {
		return &tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT, VariantVal: []*tfproto.VariantTensorDataProto{{TypeName: name}}}
	}
	const two = "a constant of strings has two contents"
	strings2 := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, StringVal: [][]byte{[]byte("a")}, TensorContent: []byte("b")}
	withGradient := with(node("n", "NoOp"), wrapper("bad", "ReadFile"), functionOf("f", []string{"in"}, node("n", "Identity", "in")))
	withGradient.MetaGraphs[0].GraphDef.Library.Gradient = []*tfproto.GradientDef{{FunctionName: "f", GradientFunc: "bad"}}
	unnamed := with(node("n", "NoOp"), functionOf("", nil))
	undeclared := attributed("type", "T")
	undeclared.NodeDef[0].Attr["x"] = placeholder("B")
	ofFloats := func(dtype *tfproto.AttrValue) *tfproto.NodeDef {
		n := constantOf("c", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: []float32{1}})
		n.Attr["dtype"] = dtype
		return n
	}
	int32s := &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_INT32}}
	leftOpen := attributed("type", "T")
	leftOpen.NodeDef = append(leftOpen.NodeDef, ofFloats(placeholder("A")))
	for _, tt := range []struct {
		name  string
		model *tfproto.SavedModel
		o     *Options
		want  string // "": allowed
	}{
		{"a value of another dtype", with(ofFloats(int32s)), nil, `node "c" ("Const") has dtype int32, and its value has float32`},
		{"such a value in a function", with(node("n", "NoOp"), functionOf("f", nil, ofFloats(int32s))), nil, `node "c" ("Const") has dtype int32, and its value has float32`},
		{"a value whose dtype is left to callers", with(node("n", "NoOp"), leftOpen), nil, `node "c" ("Const") leaves its dtype to the callers of a function, and has a value of float32`},
		{"a handle", with(constantOf("c", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, ResourceHandleVal: []*tfproto.ResourceHandleProto{{Name: "v"}}})), nil, "a constant of dtype resource"},
		{"a resource", with(constantOf("c", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE})), nil, "a constant of dtype resource"},
		{"a reference to a resource", with(constantOf("c", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE_REF})), nil, "an attribute of type resource_ref"},
		{"a variant", with(constantOf("c", variant("dataset"))), nil, `a constant of dtype variant that holds "dataset"`},
		{"a list of tensors", with(constantOf("c", listOf("\x01\x01\x01\x05\x12\x02\x08\x02", floatList(2)))), nil, ""},
		{"a list without a limit and a shape", with(constantOf("c", listOf("\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x01"))), nil, ""},
		{"a list that says nothing", with(constantOf("c", listOf(""))), nil, "it does not say how many tensors it has"},
		{"a list with too many elements", with(constantOf("c", listOf("\xff\xff\xff\xff\x7f\x01\x00"))), nil, "it does not say how many tensors it has"},
		{"a list without order", with(constantOf("c", listOf("\x02\x01\x01\x01\x00"))), nil, "its elements have no order"},
		{"a list without an element at an index", with(constantOf("c", listOf("\x01\x01\x01\x00"))), nil, "its elements have no order"},
		{"a list of no known dtype", with(constantOf("c", listOf("\x00\x65\x00"))), nil, "it does not say what its elements are"},
		{"a list without a dtype", with(constantOf("c", listOf("\x00"))), nil, "it does not say what its elements are"},
		{"a list of another dtype", with(constantOf("c", listOf("\x00\x03\x00\x18\x01", floatList(2)))), nil, "a tensor in it has another dtype"},
		{"a list of another shape", with(constantOf("c", listOf("\x00\x01\x00\x12\x02\x08\x03", floatList(2)))), nil, "a tensor in it has another dtype"},
		{"a list with a damaged shape", with(constantOf("c", listOf("\x00\x01\x00\x12\x09"))), nil, "the shape of its elements is damaged"},
		{"a list whose elements are too large", with(constantOf("c", listOf("\x00\x01\x00\x12\x06\x08\x80\x80\x80\x80\x10"))), nil, "a shape that no tensor has"},
		{"a list whose shape has sizes and no rank", with(constantOf("c", listOf("\x00\x01\x00\x12\x02\x08\x02\x18\x01"))), nil, "a shape that no tensor has"},
		{"a list written as content", with(constantOf("c", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT, TensorContent: []byte("x")})), nil, "written as content"},
		{"a reference", with(attributedNode("Identity", "T", &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_STRING_REF}})), nil, "only operations declare references"},
		{"one content", with(constantOf("c", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, TensorContent: []byte("b")})), nil, ""},
		{"two contents", with(constantOf("c", strings2)), nil, two},
		{"an attribute of the graph", with(&tfproto.NodeDef{Name: "n", Op: "NoOp", Attr: map[string]*tfproto.AttrValue{"A": placeholder("A")}}), nil, `node "n" leaves attribute "A" to a caller`},
		{"a function left to callers", with(node("n", "NoOp"), attributed("func", "f")), nil, `node "n" of function "f" leaves attribute "A" to the function's callers`},
		{"functions left to callers", with(node("n", "NoOp"), attributed("list(func)", "f")), nil, `leaves attribute "A"`},
		{"a type left to callers", with(node("n", "NoOp"), attributed("type", "T")), nil, ""},
		{"types left to callers", with(node("n", "NoOp"), attributed("list(type)", "T")), nil, ""},
		{"a number left to callers", with(node("n", "NoOp"), attributed("int", "N")), nil, ""},
		{"numbers left to callers", with(node("n", "NoOp"), attributed("list(float)", "x")), nil, ""},
		{"a truth value left to callers", with(node("n", "NoOp"), attributed("bool", "x")), nil, ""},
		{"a shape left to callers", with(node("n", "NoOp"), attributed("shape", "x")), nil, ""},
		{"what the function does not declare", with(node("n", "NoOp"), undeclared), nil, `leaves attribute "B"`},
		{"a text left to callers", with(node("n", "NoOp"), attributed("string", "x")), nil, `leaves attribute "A"`},
		{"a node without a name", with(&tfproto.NodeDef{Op: "NoOp"}), nil, "a node has no name"},
		{"a function without a name", unnamed, nil, "a function has no name"},
		{"a gradient", withGradient, nil, `"ReadFile"`},
		{"as many nodes as may be", with(node("n", "NoOp"), functionOf("f", []string{"in"}, node("n", "Identity", "in"))), &Options{MaxNodes: 3}, ""},
		{"too many nodes", with(node("n", "NoOp")), &Options{MaxNodes: 2}, "more than 2 nodes"},
		{"too many functions", graph([]*tfproto.NodeDef{y}, functionOf("f", nil), functionOf("g", nil), functionOf("h", nil)), &Options{MaxNodes: 2}, "more than 2 functions"},
		{"too many nodes in a function", graph([]*tfproto.NodeDef{y}, functionOf("f", nil, node("a", "NoOp"), node("b", "NoOp"), node("c", "NoOp"))), &Options{MaxNodes: 2}, `function "f" has more than 2 nodes`},
	} {
		_, err := readGraph(t, tt.model, tt.o)
		var e *millrace.Error
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.As(err, &e) || !strings.HasSuffix(e.File, binaryName) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}
