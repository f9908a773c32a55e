package inputcheck

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// What may have too many dimensions is checked before a list keeps it or a dataset makes batches
// of it, in the graph and in functions, and Remove leaves the graph as it was. What the graph bounds
// is not checked.
func TestElementsOfFewDims(t *testing.T) {
	const f32, variant = tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_VARIANT
	list := func(types ...tfproto.DataType) *tfproto.AttrValue {
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: types}}}
	}
	node := func(name, op string, dt tfproto.DataType, inputs ...string) *tfproto.NodeDef {
		return &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{
			"T": typed(dt), "dtype": typed(dt), "element_dtype": typed(dt), "output_types": list(dt), "Toutput_types": list(dt), "Tidx": typed(tfproto.DataType_DT_INT32)}}
	}
	one := node("one", "Const", tfproto.DataType_DT_INT64)
	one.Attr["value"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT64, Int64Val: []int64{1}}}}
	joint := node("joint", "MapAndBatchDataset", f32, "any", "one", "one", "one")
	joint.Attr["f"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "same"}}}
	again := proto.Clone(joint).(*tfproto.NodeDef) // shares the function, which is checked once
	again.Name = "again"
	arg := func(name string, dt tfproto.DataType) *tfproto.OpDef_ArgDef {
		return &tfproto.OpDef_ArgDef{Name: name, Type: dt}
	}
	before := &tfproto.GraphDef{Node: []*tfproto.NodeDef{
		one, node("x", "Placeholder", f32), node("v", "Placeholder", variant), node("l", "Placeholder", variant), node("product", "MatMul", f32, "x", "x"),
		node("push", "TensorListPushBack", f32, "l", "x"), node("push_few", "TensorListPushBack", f32, "l", "product"), node("push_variant", "TensorListPushBack", variant, "l", "v"),
		node("any", "TensorDataset", f32, "x"), node("few", "TensorDataset", f32, "product"), joint, again,
		node("batch", "BatchDatasetV2", f32, "any", "one", "one"), node("batch_few", "BatchDatasetV2", f32, "few", "one", "one"),
		node("windows", "SlidingWindowDataset", variant, "v", "one", "one", "one"),
	}, Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{{
		Signature: &tfproto.OpDef{Name: "same", InputArg: []*tfproto.OpDef_ArgDef{arg("a", f32)}, OutputArg: []*tfproto.OpDef_ArgDef{arg("o", f32)}},
		Ret:       map[string]string{"o": "a"},
	}, {
		Signature: &tfproto.OpDef{Name: "push_in_function", InputArg: []*tfproto.OpDef_ArgDef{arg("l", variant), arg("v", variant)}, OutputArg: []*tfproto.OpDef_ArgDef{arg("o", variant)}},
		NodeDef:   []*tfproto.NodeDef{node("inner", "TensorListPushBack", variant, "l", "v")}, Ret: map[string]string{"o": "inner:output_handle:0"},
	}}}}
	def, err := proto.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Insert(def, Options{})
	after := &tfproto.GraphDef{}
	if err != nil || proto.Unmarshal(got, after) != nil {
		t.Fatal(err)
	}
	var checked []string // nodes before which checks stand, and functions with checks
	collect := func(nodes []*tfproto.NodeDef, function string) {
		for _, n := range nodes {
			if name, _, ok := strings.Cut(n.GetName(), checkName); ok && n.GetOp() != "Rank" {
				if n.GetInput()[0] != "one" {
					checked = append(checked, name)
				}
			} else if function != "" && n.GetOp() == tfbridge.OpCheckArguments {
				checked = append(checked, function)
			}
		}
	}
	collect(after.GetNode(), "")
	for _, f := range after.GetLibrary().GetFunction() {
		collect(f.GetNodeDef(), f.GetSignature().GetName())
	}
	slices.Sort(checked)
	want := []string{"batch", "inner", "millrace_check_0", "millrace_check_1", "push", "push_variant", "same", "windows"}
	if !slices.Equal(checked, want) {
		t.Errorf("checked are %q, want %q", checked, want)
	}
	if Remove(after); !proto.Equal(before, after) {
		t.Errorf("Remove leaves %v", after)
	}
}
