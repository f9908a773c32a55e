package inputcheck

import (
	"fmt"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
)

// The graph bounds the number of dimensions of a tensor, or leaves it open.
func TestMostDims(t *testing.T) {
	const f32, i32 = tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_INT32
	constant := func(name string, dims ...int64) *tfproto.NodeDef {
		shape := &tfproto.TensorShapeProto{}
		for _, d := range dims {
			shape.Dim = append(shape.Dim, &tfproto.TensorShapeProto_Dim{Size: d})
		}
		return &tfproto.NodeDef{Name: name, Op: "Const", Attr: map[string]*tfproto.AttrValue{
			"value": {Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{Dtype: i32, TensorShape: shape}}}}}
	}
	node := func(name, op string, inputs ...string) *tfproto.NodeDef {
		return &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{}}
	}
	call := node("call", "PartitionedCall", "matrix", "x")
	call.Attr["f"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "f"}}}
	loop := node("loop", "While", "scalar", "matrix")
	for _, name := range []string{"body", "cond"} {
		loop.Attr[name] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "loop_" + name}}}
	}
	slice := node("slice", "StridedSlice", "matrix", "scalar", "scalar", "scalar")
	slice.Attr["new_axis_mask"] = integer(5)
	arg := func(names ...string) (args []*tfproto.OpDef_ArgDef) {
		for _, n := range names {
			args = append(args, &tfproto.OpDef_ArgDef{Name: n, Type: f32})
		}
		return args
	}
	of := func(n *tfproto.NodeDef, attrs ...string) *tfproto.NodeDef {
		for _, name := range attrs {
			attr, function, _ := strings.Cut(name, "=")
			n.Attr[attr] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: function}}}
		}
		return n
	}
	types := func(n *tfproto.NodeDef, types ...tfproto.DataType) *tfproto.NodeDef {
		n.Attr["output_types"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: types}}}
		n.Attr["Toutput_types"] = n.Attr["output_types"]
		return n
	}
	g := &tfproto.GraphDef{Node: []*tfproto.NodeDef{
		types(node("few", "TensorDataset", "matrix"), f32), types(node("any", "TensorDataset", "x"), f32), node("repeated", "RepeatDataset", "few", "scalar"),
		types(node("batch", "BatchDatasetV2", "repeated", "scalar", "scalar"), f32), types(node("batches", "BatchDatasetV2", "any", "scalar", "scalar"), f32),
		of(types(node("mapped", "MapDataset", "batch"), f32), "f=per_element"), of(node("flat", "FlatMapDataset", "batch"), "f=datasets"),
		types(node("windows", "WindowDataset", "any", "scalar", "scalar", "scalar", "scalar"), tfproto.DataType_DT_VARIANT),
		types(node("of_windows", "BatchDatasetV2", "windows", "scalar", "scalar"), tfproto.DataType_DT_VARIANT),
		of(node("chosen", "If", "x", "matrix"), "then_branch=deeper", "else_branch=same"), node("read", "ReadVariableOp", "x"), node("item", "TensorListGetItem", "x", "x", "three"),
		node("stacked", "TensorListStack", "x", "three"), node("biased", "BiasAdd", "product", "x"),
		node("x", "Placeholder"), constant("scalar"), constant("matrix", 2, 3), constant("three", 3), constant("many", 300), slice, call, loop,
		node("sum", "AddV2", "matrix", "scalar"), node("product", "MatMul", "x", "x"), node("expanded", "ExpandDims", "product", "scalar"),
		node("packed", "Pack", "x", "x"), node("shaped", "Reshape", "x", "three"), node("long", "Reshape", "x", "many"), node("fed", "Identity", "matrix"),
		node("unknown", "SomeOp", "matrix"),
	}, Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{
		{Signature: &tfproto.OpDef{Name: "f", InputArg: arg("a", "b"), OutputArg: arg("first", "second")},
			NodeDef: []*tfproto.NodeDef{node("e", "ExpandDims", "a", "a"), node("p", "Pack", "b")}, Ret: map[string]string{"first": "e:output:0", "second": "p:output:0"}},
		{Signature: &tfproto.OpDef{Name: "loop_body", InputArg: arg("grows", "stays"), OutputArg: arg("o", "p")},
			NodeDef: []*tfproto.NodeDef{node("e", "ExpandDims", "grows", "grows"), node("i", "Identity", "stays")}, Ret: map[string]string{"o": "e:output:0", "p": "i:output:0"}},
		{Signature: &tfproto.OpDef{Name: "nobody", InputArg: arg("a")}},
		{Signature: &tfproto.OpDef{Name: "per_element", InputArg: arg("a"), OutputArg: arg("o")}, NodeDef: []*tfproto.NodeDef{node("e", "ExpandDims", "a", "a")}, Ret: map[string]string{"o": "e:output:0"}},
		{Signature: &tfproto.OpDef{Name: "datasets", InputArg: arg("a"), OutputArg: []*tfproto.OpDef_ArgDef{{Name: "o", Type: tfproto.DataType_DT_VARIANT}}},
			NodeDef: []*tfproto.NodeDef{types(node("d", "TensorSliceDataset", "a"), f32)}, Ret: map[string]string{"o": "d:handle:0"}},
		{Signature: &tfproto.OpDef{Name: "deeper", InputArg: arg("a"), OutputArg: arg("o")}, NodeDef: []*tfproto.NodeDef{node("e", "ExpandDims", "a", "a")}, Ret: map[string]string{"o": "e:output:0"}},
		{Signature: &tfproto.OpDef{Name: "same", InputArg: arg("a"), OutputArg: arg("o")}, Ret: map[string]string{"o": "a"}},
	}}}
	f := newFlow(g)
	f.feed([]string{"fed:0"})
	for _, tt := range []struct {
		body, tensor string
		want         int
	}{
		{"", "scalar", 0}, {"", "matrix", 2}, {"", "sum", 2}, {"", "x", anyDims}, {"", "product", smallDims}, {"", "expanded", smallDims + 1}, {"", "packed", anyDims},
		{"", "shaped", 3}, {"", "long", anyDims}, {"", "slice", 4}, {"", "fed", anyDims}, {"", "unknown", anyDims}, {"", "call", 3}, {"", "call:1", anyDims},
		{"f", "a", 2}, {"f", "e:output:0", 3}, {"f", "b", anyDims}, {"loop_body", "stays", 2}, {"loop_body", "grows", anyDims}, {"nobody", "a", anyDims},
		// The results of a loop, of a choice, and what was kept.
		{"", "loop:1", 2}, {"", "loop", anyDims}, {"", "chosen", 3}, {"", "read", keptDims}, {"", "item", keptDims}, {"", "stacked", keptDims + 1}, {"", "biased", smallDims},
		{"per_element", "a", 3}, {"per_element", "e:output:0", 4},
	} {
		if got := f.mostDims(tt.body, tt.tensor); got != tt.want {
			t.Errorf("%s/%s: %d, want %d", tt.body, tt.tensor, got, tt.want)
		}
	}
	for dataset, want := range map[string]int{"few": 2, "any": anyDims, "repeated": 2, "batch": 3, "batches": keptDims + 1, "mapped": 4, "flat": 3, "windows": anyDims, "of_windows": anyDims, "x": anyDims} {
		if got := f.bounds.get(ofContents, "", dataset); got != want {
			t.Errorf("contents of %s: %d, want %d", dataset, got, want)
		}
	}
}

// Bounds take a few steps for each operation, however many paths lead to it, and no stack for a long
// path.
func TestBoundsOfLargeGraphs(t *testing.T) {
	node := func(name, op string, inputs ...string) *tfproto.NodeDef {
		return &tfproto.NodeDef{Name: name, Op: op, Input: inputs}
	}
	three := &tfproto.TensorProto{TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 3}}}}
	g := &tfproto.GraphDef{Node: []*tfproto.NodeDef{{Name: "x0", Op: "Const", Attr: map[string]*tfproto.AttrValue{"value": {Value: &tfproto.AttrValue_Tensor{Tensor: three}}}}}}
	const doubled, long = 64, 100_000
	for i := range long {
		before, op := fmt.Sprint("x", i), "AddV2"
		if i >= doubled {
			op = "Cast"
		}
		g.Node = append(g.Node, node(fmt.Sprint("x", i+1), op, before, before))
	}
	for _, n := range []int{doubled, long} {
		g.Node = append(g.Node, node(fmt.Sprint("fill", n), "Fill", fmt.Sprint("x", n), "x0"))
	}
	f := newFlow(g)
	for _, tt := range []struct {
		tensor string
		want   int
	}{{fmt.Sprint("fill", long), 3}, {fmt.Sprint("x", doubled), 1}, {fmt.Sprint("fill", doubled), 3}} {
		if got := f.mostDims("", tt.tensor); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.tensor, got, tt.want)
		}
	}
}
