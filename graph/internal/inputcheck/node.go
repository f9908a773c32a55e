package inputcheck

import (
	"fmt"

	"millrace/internal/base/tfproto"
)

// The suffixes of the names of added nodes.
const (
	checkName    = "/millrace_check"
	keysName     = "/millrace_check_keys"
	readName     = "/millrace_check_read"
	rankName     = "/millrace_check_rank"
	copyName     = "/millrace_copy"
	functionName = "millrace_check_"

	resultCheckName = "millrace_check_result"
	rankSuffix      = "_of_rank"
)

// namesOf returns the names of nodes, and of the arguments around them.
func namesOf(nodes []*tfproto.NodeDef, function *tfproto.OpDef) map[string]bool {
	names := map[string]bool{}
	for _, arg := range function.GetInputArg() {
		names[arg.GetName()] = true
	}
	for _, n := range nodes {
		names[n.GetName()] = true
	}
	return names
}

// checked is a parser that gets a check.
type checked struct {
	parser   parser
	node     *tfproto.NodeDef
	function *tfproto.OpDef  // the function that contains the node; nil: none
	names    map[string]bool // names of all nodes and arguments around it
	limit    int64           // see bytecheck.Spec
}

// name returns a name for a new node.
func (j *checked) name(suffix string) string {
	name := j.node.GetName() + suffix
	for i := 1; j.names[name]; i++ {
		name = fmt.Sprintf("%s%s_%d", j.node.GetName(), suffix, i)
	}
	j.names[name] = true
	return name
}

// ref returns how a node refers to the only output of another.
func (j *checked) ref(node, output string) string {
	if j.function == nil {
		return node
	}
	return node + ":" + output + ":0"
}

// constant returns a node of a vector of strings.
func constant(name string, values [][]byte) *tfproto.NodeDef {
	value := &tfproto.TensorProto{
		Dtype: tfproto.DataType_DT_STRING, StringVal: values,
		TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: int64(len(values))}}},
	}
	return &tfproto.NodeDef{Name: name, Op: "Const", Attr: map[string]*tfproto.AttrValue{
		"dtype": {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_STRING}},
		"value": {Value: &tfproto.AttrValue_Tensor{Tensor: value}},
	}}
}

func text(b []byte) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: b}}
}

func integer(i int64) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: i}}
}

func boolean(b bool) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_B{B: b}}
}

// mapOf returns a Map without a name and an input.
func mapOf(function string, types []tfproto.DataType, shapes *tfproto.AttrValue_ListValue) *tfproto.NodeDef {
	list := func(v *tfproto.AttrValue_ListValue) *tfproto.AttrValue {
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: v}}
	}
	return &tfproto.NodeDef{Op: "MapDataset", Attr: map[string]*tfproto.AttrValue{
		"f":          {Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: function}}},
		"Targuments": list(&tfproto.AttrValue_ListValue{}), "output_types": list(&tfproto.AttrValue_ListValue{Type: types}), "output_shapes": list(shapes),

		"use_inter_op_parallelism": boolean(true), "preserve_cardinality": boolean(true),
	}}
}

// copyable reports whether a check can pass on tensors of a type.
func copyable(dt tfproto.DataType) bool {
	return dt != tfproto.DataType_DT_RESOURCE && dt != tfproto.DataType_DT_VARIANT
}
