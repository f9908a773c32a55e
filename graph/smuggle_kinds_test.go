package graph_test

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// ignored is the reason why a harmless model is accepted: TensorFlow ignores the trick.
const ignored = "TensorFlow ignores it"

// nested makes a dataset of n datasets in each other.
func nested(n int, op string, attrs ...any) func(s *smuggled) {
	return func(s *smuggled) {
		all := append([]any{"output_types", types1, "output_shapes", list{{}}}, attrs...)
		s.op("d0", "TensorDataset", in("x"), "Toutput_types", types1, "output_shapes", list{{}})
		s.longs("one", dims{}, 1)
		for i := range n {
			s.op(fmt.Sprint("d", i+1), op, in(fmt.Sprint("d", i), "one"), all...)
		}
		s.op("read", "DatasetToSingleElement", in(fmt.Sprint("d", n)), "output_types", types1, "output_shapes", list{{}})
		s.output("^read")
	}
}

// loops makes a loop that runs n times, and whose body gives a variant made of the one before.
func loops(op string, n int64, first func(s *smuggled) string, body func() (nodes []*tfproto.NodeDef, result string)) func(s *smuggled) {
	return func(s *smuggled) {
		begin := first(s)
		types := []tfproto.DataType{i64, variant}
		cond := s.function("cond", []string{"i", "v"}, longNode("n", n), opNode("less", "Less", in("i", "n:output:0"), "T", i64))
		cond.Signature.InputArg[0].Type, cond.Signature.InputArg[1].Type, cond.Signature.OutputArg[0].Type = i64, variant, boolean
		cond.Ret["out"] = "less:z:0"
		nodes, result := body()
		f := s.function("body", []string{"i", "v"}, append(nodes, longNode("one", 1), opNode("next", "AddV2", in("i", "one:output:0"), "T", i64))...)
		f.Signature.InputArg[0].Type, f.Signature.InputArg[1].Type, f.Signature.OutputArg[0].Type = i64, variant, i64
		f.Signature.OutputArg = append(f.Signature.OutputArg, &tfproto.OpDef_ArgDef{Name: "v_out", Type: variant})
		f.Ret["out"], f.Ret["v_out"] = "next:z:0", result
		s.longs("zero", dims{}, 0)
		s.op("loop", op, in("zero", begin), "T", types, "cond", fn("cond"), "body", fn("body"), "output_shapes", list{{}, {}})
		s.op("kept", "OptionalFromValue", in("loop:1"), "Toutput_types", []tfproto.DataType{variant})
		s.op("has", "OptionalHasValue", in("kept"))
		s.run2("has", boolean)
		s.run2("loop", i64)
	}
}

func longNode(name string, v int64) *tfproto.NodeDef {
	return opNode(name, "Const", nil, "dtype", i64, "value", &tfproto.TensorProto{Dtype: i64, TensorShape: &tfproto.TensorShapeProto{}, Int64Val: []int64{v}})
}

func tensorData(s *smuggled) string {
	s.op("data", "TensorDataset", in("x"), "Toutput_types", types1, "output_shapes", list{{}})
	return "data"
}

func emptyList(s *smuggled) string {
	s.numbers("any", dims{}, -1)
	s.op("list", "EmptyTensorList", in("any", "any"), "element_dtype", variant, "shape_type", i32)
	return "list"
}

// withArgAttr makes a call of a function whose argument has an attribute.
func withArgAttr(name string, v any) func(s *smuggled) {
	return func(s *smuggled) {
		f := s.function("f", []string{"a"}, bodyNode("i", "Identity", "a"))
		f.Ret["out"] = "i:output:0"
		f.ArgAttr = map[uint32]*tfproto.FunctionDef_ArgAttrs{0: {Attr: map[string]*tfproto.AttrValue{name: attrOf(v)}}}
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"))
		s.run("c", str)
	}
}

// withAttr makes a node of an attribute that TensorFlow's own rewrites set.
func withAttr(name string, v any) func(s *smuggled) {
	return func(s *smuggled) {
		s.floats("f", dims{2}, 1, 2)
		s.hidden("h", "f", f32)
		s.op("evil", "Sqrt", in("h"), "T", f32, name, v)
		s.run("evil", f32)
	}
}

// compiled makes a call that asks to be compiled by XLA.
func compiled(body func() (nodes []*tfproto.NodeDef, result string), attrs ...any) func(s *smuggled) {
	return func(s *smuggled) {
		nodes, result := body()
		f := s.function("f", []string{"a"}, nodes...)
		f.Attr = map[string]*tfproto.AttrValue{"_XlaMustCompile": attrOf(true), "_noinline": attrOf(true)}
		f.Signature.InputArg[0].Type, f.Signature.OutputArg[0].Type, f.Ret["out"] = f32, f32, result
		s.floats("value", dims{2}, 1, 2)
		s.hidden("hidden", "value", f32)
		s.op("c", "StatefulPartitionedCall", in("hidden"), append([]any{"Tin", []tfproto.DataType{f32}, "Tout", []tfproto.DataType{f32}, "f", fn("f"), "_XlaMustCompile", true}, attrs...)...)
		s.run("c", f32)
	}
}

func floatsNode(name string, shape dims, v ...float32) *tfproto.NodeDef {
	return opNode(name, "Const", nil, "dtype", f32, "value", &tfproto.TensorProto{Dtype: f32, TensorShape: attrOf(shape).GetShape(), FloatVal: v})
}

// kindTricks are those of other kinds: recursion, private attributes, compilers, lies of
// functions about themselves.
var kindTricks = []trick{
	{"a loop of constants runs a hundred thousand times", ignored, func(s *smuggled) {
		cond := s.function("cond", []string{"i"}, longNode("n", 100000), opNode("less", "Less", in("i", "n:output:0"), "T", i64))
		cond.Signature.InputArg[0].Type, cond.Signature.OutputArg[0].Type, cond.Ret["out"] = i64, boolean, "less:z:0"
		body := s.function("body", []string{"i"}, longNode("one", 1), opNode("next", "AddV2", in("i", "one:output:0"), "T", i64))
		body.Signature.InputArg[0].Type, body.Signature.OutputArg[0].Type, body.Ret["out"] = i64, i64, "next:z:0"
		s.longs("zero", dims{}, 0)
		s.op("loop", "StatelessWhile", in("zero"), "T", []tfproto.DataType{i64}, "cond", fn("cond"), "body", fn("body"), "output_shapes", list{{}})
		s.run("loop", i64)
	}},
	{"six hundred datasets lie in each other", "", nested(600, "TakeDataset")},
	{"a loop lays datasets into each other", "", func(s *smuggled) {
		loops("StatelessWhile", 300000, tensorData, func() ([]*tfproto.NodeDef, string) {
			return []*tfproto.NodeDef{longNode("k", 1), opNode("take", "TakeDataset", in("v", "k:output:0"), "output_types", types1, "output_shapes", list{{}})}, "take:handle:0"
		})(s)
		s.op("read", "DatasetToSingleElement", in("loop:1"), "output_types", types1, "output_shapes", list{{}})
		s.output("^read")
	}},
	{"a loop lays lists into each other", "", loops("StatelessWhile", 300000, emptyList, func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("any", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: &tfproto.TensorShapeProto{}, IntVal: []int32{-1}}),
			opNode("fresh", "EmptyTensorList", in("any:output:0", "any:output:0"), "element_dtype", variant, "shape_type", i32),
			opNode("push", "TensorListPushBack", in("fresh:handle:0", "v"), "element_dtype", variant)}, "push:output_handle:0"
	})},
	{"a loop lays optionals into each other", "", loops("While", 300000, func(s *smuggled) string { s.op("none", "OptionalNone", nil); return "none" }, func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("some", "OptionalFromValue", in("v"), "Toutput_types", []tfproto.DataType{variant})}, "some:optional:0"
	})},
	{"a loop lays composite tensors into each other", "", loops("While", 300000, func(s *smuggled) string { s.op("none", "OptionalNone", nil); return "none" }, func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("some", "CompositeTensorVariantFromComponents", in("v"), "metadata", "", "Tcomponents", []tfproto.DataType{variant})}, "some:encoded:0"
	})},
	{"a loop puts maps into maps", "", loops("While", 300000, func(s *smuggled) string { s.op("none", "EmptyTensorMap", nil); return "none" }, func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("fresh", "EmptyTensorMap", nil), longNode("k", 1),
			opNode("put", "TensorMapInsert", in("fresh:handle:0", "k:output:0", "v"), "key_dtype", i64, "value_dtype", variant)}, "put:output_handle:0"
	})},
	{"a variable holds a list of itself, each run deeper", "", func(s *smuggled) {
		emptyList(s)
		s.op("var", "VarHandleOp", nil, "dtype", variant, "shape", dims{}, "shared_name", "var")
		s.op("set", "AssignVariableOp", in("var", "list"), "dtype", variant)
		f := s.function("body", []string{"i", "h"}, opNode("get", "ReadVariableOp", in("h"), "dtype", variant),
			opNode("any", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: &tfproto.TensorShapeProto{}, IntVal: []int32{-1}}),
			opNode("fresh", "EmptyTensorList", in("any:output:0", "any:output:0"), "element_dtype", variant, "shape_type", i32),
			opNode("push", "TensorListPushBack", in("fresh:handle:0", "get:value:0"), "element_dtype", variant),
			opNode("put", "AssignVariableOp", in("h", "push:output_handle:0"), "dtype", variant),
			longNode("one", 1), opNode("next", "AddV2", in("i", "one:output:0", "^put"), "T", i64))
		f.Signature.InputArg[0].Type, f.Signature.InputArg[1].Type, f.Signature.OutputArg[0].Type = i64, resource, i64
		f.Signature.OutputArg = append(f.Signature.OutputArg, &tfproto.OpDef_ArgDef{Name: "h_out", Type: resource})
		f.Ret["out"], f.Ret["h_out"] = "next:z:0", "h"
		cond := s.function("cond", []string{"i", "h"}, longNode("n", 300000), opNode("less", "Less", in("i", "n:output:0"), "T", i64))
		cond.Signature.InputArg[0].Type, cond.Signature.InputArg[1].Type, cond.Signature.OutputArg[0].Type = i64, resource, boolean
		cond.Ret["out"] = "less:z:0"
		s.longs("zero", dims{}, 0)
		s.op("loop", "While", in("zero", "var", "^set"), "T", []tfproto.DataType{i64, resource}, "cond", fn("cond"), "body", fn("body"))
		s.output("^loop")
	}},
	{"five thousand identities follow each other", "", func(s *smuggled) {
		s.op("i0", "Identity", in("x"), "T", str)
		for i := range 5000 {
			s.op(fmt.Sprint("i", i+1), "Identity", in(fmt.Sprint("i", i)), "T", str)
		}
		s.output("^i5000")
	}},
	{"five thousand pieces of a shape follow each other", "", func(s *smuggled) {
		s.numbers("c", dims{1}, 1)
		s.hidden("h", "c", i32)
		s.op("i0", "Shape", in("h"), "T", i32, "out_type", i32)
		for i := range 5000 {
			s.op(fmt.Sprint("i", i+1), "ConcatV2", in(fmt.Sprint("i", i), "c", "axis"), "N", 2, "T", i32, "Tidx", i32)
		}
		s.numbers("axis", dims{}, 0)
		s.op("evil", "Reshape", in("h", "i5000"), "T", i32, "Tshape", i32)
		s.run("evil", i32)
	}},
	{"the shape of a tensor comes out of a loop of constants", ignored, func(s *smuggled) {
		s.numbers("c", dims{1}, 1)
		s.op("yes", "Const", nil, "dtype", boolean, "value", &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{false}})
		s.op("enter", "Enter", in("c"), "T", i32, "frame_name", "f", "is_constant", false)
		s.op("enteryes", "Enter", in("yes"), "T", boolean, "frame_name", "f", "is_constant", true)
		s.op("merge", "Merge", in("enter", "again"), "T", i32, "N", 2)
		s.op("cond", "LoopCond", in("enteryes"))
		s.op("switch", "Switch", in("merge", "cond"), "T", i32)
		s.op("again", "NextIteration", in("switch:1"), "T", i32)
		s.op("exit", "Exit", in("switch"), "T", i32)
		s.op("evil", "Reshape", in("c", "exit"), "T", i32, "Tshape", i32)
		s.run("evil", i32)
	}},
	{"a circle of constants without a merge feeds a shape", returnsError, func(s *smuggled) {
		s.numbers("c", dims{1}, 1)
		s.op("again", "NextIteration", in("sum"), "T", i32)
		s.op("merge", "Merge", in("again", "c"), "T", i32, "N", 2)
		s.op("sum", "AddV2", in("merge", "c"), "T", i32)
		s.op("evil", "Reshape", in("c", "sum"), "T", i32, "Tshape", i32)
		s.run("evil", i32)
	}},
	{"an argument of a function says that it is another one", ignored, withArgAttr("index", 7)},
	{"an argument of a function says that it has a negative index", ignored, withArgAttr("index", -1)},
	{"an argument of a function says that it is a number", ignored, withArgAttr("T", i64)},
	{"an argument of a function says that it is a handle", ignored, withArgAttr("T", resource)},
	{"an argument of a function has an identity", ignored, withArgAttr("_resource_arg_unique_id", 5)},
	{"an argument of a function lies about its shape", ignored, withArgAttr("_output_shapes", list{{1 << 40}, {2}})},
	{"a node asks for a kernel of the compiler", returnsError, withAttr("_kernel", "MklNameChangeOp")},
	{"a node asks for a kernel that does not exist", returnsError, withAttr("_kernel", "QuantizedMklOp")},
	{"a product asks for a kernel of the compiler", returnsError, func(s *smuggled) {
		s.floats("f", dims{2, 2}, 1, 2, 3, 4)
		s.hidden("h", "f", f32)
		s.op("evil", "MatMul", in("h", "h"), "T", f32, "_kernel", "MklNameChangeOp")
		s.run("evil", f32)
	}},
	{"a node says that it is on a TPU", ignored, withAttr("_tpu_replicate", "cluster")},
	{"a node is part of a replication", ignored, withAttr("_replication_info", "r")},
	{"a node is compiled outside", ignored, withAttr("_xla_outside_compilation", "0")},
	{"a node must be compiled", ignored, withAttr("_XlaMustCompile", true)},
	{"a node must be compiled in a cluster", ignored, withAttr("_XlaCluster", "c")},
	{"a node is of a compiled kernel", ignored, withAttr("_XlaCompiledKernel", true)},
	{"a node may be compiled", ignored, withAttr("_XlaCompile", true)},
	{"a node has the class of one that is not there", returnsError, withAttr("_class", strs{"loc:@nothing", "loc:@h", "junk"})},
	{"a node lies about its output's shape", ignored, withAttr("_output_shapes", list{{1 << 40}, nil, {3}})},
	{"a node is lowered as if it were a branch", ignored, withAttr("_lower_using_switch_merge", true)},
	{"a node receives from the host", ignored, withAttr("_hostmem_sendrecv", true)},
	{"a node reads resources by odd positions", ignored, withAttr("_read_only_resource_inputs", ints{99, -1})},
	{"a node says how many outputs it had", ignored, withAttr("_num_original_outputs", -5)},
	{"a node has a fused operation", ignored, withAttr("fused_ops", strs{"BiasAdd"})},
	{"a node has a NaN for a cost", ignored, withAttr("_start_time", "x")},
	{"the producer of a graph is older than all", ignored, func(s *smuggled) { s.graph().Versions.Producer = 0; withAttr("_output_shapes", list{{7}})(s) }},
	{"the producer of a graph is of the future", ignored, func(s *smuggled) { s.graph().Versions.Producer = math.MaxInt32; s.run("x", str) }},
	{"the producer of a graph is negative", returnsError, func(s *smuggled) { s.graph().Versions.Producer = -5; s.run("x", str) }},
	{"a graph wants a consumer of the future", "", func(s *smuggled) { s.graph().Versions.MinConsumer = math.MaxInt32; s.run("x", str) }},
	{"a device is a name that nobody can read", returnsError, func(s *smuggled) {
		withAttr("ok", true)(s)
		s.graph().Node[len(s.graph().Node)-2].Device = "/job:///::*/device:@@:-1"
	}},
	{"a device is a compiler", ignored, func(s *smuggled) {
		withAttr("ok", true)(s)
		for _, n := range s.graph().Node {
			if n.Name == "evil" {
				n.Device = "/job:localhost/replica:0/task:0/device:XLA_CPU_JIT:0"
			}
		}
	}},
	{"a device is CPU number two billion", ignored, func(s *smuggled) {
		withAttr("ok", true)(s)
		for _, n := range s.graph().Node {
			n.Device = "/device:CPU:2147483648"
		}
	}},
	{"a compiled function has an odd shape", returnsError, compiled(func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("shape", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{2}).GetShape(), IntVal: []int32{-1, 0}}),
			opNode("r", "Reshape", in("a", "shape:output:0"), "T", f32, "Tshape", i32)}, "r:output:0"
	})},
	{"a compiled function has an empty pool", returnsError, compiled(func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{floatsNode("v", dims{1, 4, 4, 1}, 1), opNode("p", "MaxPool", in("v:output:0"), "T", f32, "ksize", ints{1, 0, 0, 1}, "strides", ints{1, 1, 1, 1}, "padding", "VALID"),
			opNode("axes", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{4}).GetShape(), IntVal: []int32{0, 1, 2, 3}}),
			opNode("s", "Sum", in("p:output:0", "axes:output:0"), "T", f32, "Tidx", i32), opNode("t", "AddV2", in("a", "s:output:0"), "T", f32)}, "t:z:0"
	})},
	{"a compiled function sorts by an odd dimension", "", compiled(func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("k", "XlaSort", in("a"), "T", f32)}, "k:output:0"
	})},
	{"a compiled product has an odd dimension", "", compiled(func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("k", "XlaDot", in("a", "a"), "T", f32, "dimension_numbers", "\x0a\x01\x07\x12\x01\x63", "precision_config", "")}, "k:output:0"
	})},
	{"a compiled gather has odd dimensions", "", compiled(func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("at", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{1}).GetShape(), IntVal: []int32{0}}),
			opNode("k", "XlaGather", in("a", "at:output:0", "at:output:0"), "T", f32, "Tindices", i32, "dimension_numbers", "\x0a\x01\x63\x12\x01\x63\x1a\x01\x63\x20\x63", "indices_are_sorted", false)}, "k:output:0"
	})},
	{"a compiled convolution has odd dimensions", "", compiled(func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("at", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{1}).GetShape(), IntVal: []int32{0}}),
			opNode("one", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{}).GetShape(), IntVal: []int32{0}}),
			opNode("pad", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{1, 2}).GetShape(), IntVal: []int32{0}}),
			opNode("k", "XlaConv", in("a", "a", "at:output:0", "pad:output:0", "at:output:0", "at:output:0", "one:output:0"), "T", f32, "Tindices", i32, "dimension_numbers", "\x0a\x01\x63\x38\x63", "precision_config", "")}, "k:output:0"
	})},
	{"a compiled function pads by a negative number", "", compiled(func() ([]*tfproto.NodeDef, string) {
		return []*tfproto.NodeDef{opNode("lo", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{1}).GetShape(), IntVal: []int32{-5}}),
			opNode("big", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{1}).GetShape(), IntVal: []int32{-7}}), floatsNode("z", dims{}, 0),
			opNode("k", "XlaPad", in("a", "z:output:0", "lo:output:0", "lo:output:0", "big:output:0"), "T", f32, "Tindices", i32)}, "k:output:0"
	})},
	{"a function is launched by the compiler", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("k", "Sqrt", in("a"), "T", f32))
		f.Signature.InputArg[0].Type, f.Signature.OutputArg[0].Type, f.Ret["out"] = f32, f32, "k:y:0"
		s.floats("value", dims{2}, 1, 2)
		s.op("c", "XlaLaunch", in("value"), "Tconstants", []tfproto.DataType{}, "Targs", []tfproto.DataType{f32}, "Nresources", 0, "Tresults", []tfproto.DataType{f32}, "function", fn("f"))
		s.run("c", f32)
	}},
	{"a function is launched by the compiler with fewer arguments", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("k", "Sqrt", in("a"), "T", f32))
		f.Signature.InputArg[0].Type, f.Signature.OutputArg[0].Type, f.Ret["out"] = f32, f32, "k:y:0"
		s.op("c", "XlaLaunch", nil, "Tconstants", []tfproto.DataType{}, "Targs", []tfproto.DataType{}, "Nresources", 0, "Tresults", []tfproto.DataType{f32, f32}, "function", fn("f"))
		s.run("c", f32)
	}},
	{"two functions of an interface call each other once one stands in for the other", ignored, func(s *smuggled) {
		impl := func(f *tfproto.FunctionDef, device string) {
			f.Attr = map[string]*tfproto.AttrValue{"api_implements": stringAttr("i"), "api_preferred_device": stringAttr(device)}
		}
		impl(s.function("g", []string{"a"}), "CPU")
		f := s.function("f", []string{"a"}, call1("c", "g", "a"))
		f.Ret["out"] = "c:output:0"
		impl(f, "CPU")
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"), call1("d", "g", "x"))
		s.output("^c")
		s.output("^d")
	}},
	{"a function calls one of its interface on the other device", ignored, func(s *smuggled) {
		g := s.function("g", []string{"a"})
		g.Attr = map[string]*tfproto.AttrValue{"api_implements": stringAttr("i"), "api_preferred_device": stringAttr("GPU")}
		f := s.function("f", []string{"a"}, call1("c", "g", "a"))
		f.Ret["out"] = "c:output:0"
		f.Attr = map[string]*tfproto.AttrValue{"api_implements": stringAttr("i"), "api_preferred_device": stringAttr("CPU")}
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"), call1("d", "g", "x"))
		s.output("^c")
		s.output("^d")
	}},
	{"two functions are each other's gradient", "", func(s *smuggled) {
		s.function("f", []string{"a"})
		s.function("g", []string{"a", "b"})
		s.graph().Library.Gradient = []*tfproto.GradientDef{{FunctionName: "f", GradientFunc: "g"}, {FunctionName: "g", GradientFunc: "f"}}
		s.op("evil", "SymbolicGradient", in("x", "x"), "f", fn("f"), "Tin", []tfproto.DataType{str, str}, "Tout", types1)
		s.run("evil", str)
	}},
	{"a gradient is asked for of a function of floats with a loop", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("k", "Sqrt", in("a"), "T", f32))
		f.Signature.InputArg[0].Type, f.Signature.OutputArg[0].Type, f.Ret["out"] = f32, f32, "k:y:0"
		s.floats("value", dims{2}, 1, 2)
		s.op("evil", "SymbolicGradient", in("value"), "f", fn("f"), "Tin", []tfproto.DataType{f32}, "Tout", []tfproto.DataType{f32, f32})
		s.run("evil", f32)
	}},
	{"a function's result is an output that its node does not have", returnsError, func(s *smuggled) {
		f := s.function("f", []string{"a"}, bodyNode("i", "Identity", "a"))
		f.Ret["out"] = "i:output:7"
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"))
		s.run("c", str)
	}},
	{"a function lists an argument twice", returnsError, func(s *smuggled) {
		s.function("f", []string{"a", "a"})
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x", "x"))
		s.run("c", str)
	}},
	{"a function's argument repeats a negative number of times", "", func(s *smuggled) {
		f := s.function("f", []string{"a"})
		f.Signature.InputArg[0].NumberAttr = "N"
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "N", Type: "int"}}
		s.op("c", "StatefulPartitionedCall", in("x"), "Tin", types1, "Tout", types1, "f", &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "f", Attr: map[string]*tfproto.AttrValue{"N": intAttr(-1)}}}})
		s.run("c", str)
	}},
	{"a function's argument repeats two billion times", "", func(s *smuggled) {
		f := s.function("f", []string{"a"})
		f.Signature.InputArg[0].NumberAttr = "N"
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "N", Type: "int"}}
		s.op("c", "StatefulPartitionedCall", in("x"), "Tin", types1, "Tout", types1, "f", &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "f", Attr: map[string]*tfproto.AttrValue{"N": intAttr(math.MaxInt32)}}}})
		s.run("c", str)
	}},
	{"a function's argument is a reference", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("w", "Assign", in("a", "v:output:0"), "T", str), constantNode("v", "w"))
		f.Signature.InputArg[0].IsRef = true
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"))
		s.run("c", str)
	}},
	{"a function's argument has no type that exists", "", func(s *smuggled) {
		f := s.function("f", []string{"a"})
		f.Signature.InputArg[0].Type = 999
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"))
		s.run("c", str)
	}},
	{"a node has a type that does not exist", returnsError, func(s *smuggled) {
		s.op("evil", "Identity", in("x"), "T", tfproto.DataType(999))
		s.output("^evil")
	}},
	{"a function keeps running for a control output that it does not have", ignored, func(s *smuggled) {
		f := s.function("f", []string{"a"})
		f.ControlRet = map[string]string{"gone": "nowhere"}
		f.Signature.ControlOutput = []string{"gone", "other"}
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"))
		s.run("c", str)
	}},
	{"types of a node nest ten thousand deep", "", func(s *smuggled) {
		full := &tfproto.FullTypeDef{TypeId: 1000}
		for range 3000 {
			full = &tfproto.FullTypeDef{TypeId: 1000, Args: []*tfproto.FullTypeDef{full}}
		}
		n := opNode("evil", "Identity", in("x"), "T", str)
		n.ExperimentalType = full
		s.graph().Node = append(s.graph().Node, n)
		s.run("evil", str)
	}},
	{"types of a node nest ninety deep, each twice", ignored, func(s *smuggled) {
		full := &tfproto.FullTypeDef{TypeId: 1000}
		for range 12 {
			full = &tfproto.FullTypeDef{TypeId: 1000, Args: []*tfproto.FullTypeDef{full, full}}
		}
		n := opNode("evil", "Identity", in("x"), "T", str)
		n.ExperimentalType = full
		s.graph().Node = append(s.graph().Node, n)
		s.run("evil", str)
	}},
	{"the type of a node lies", ignored, func(s *smuggled) {
		n := opNode("evil", "Identity", in("x"), "T", str)
		n.ExperimentalType = &tfproto.FullTypeDef{TypeId: 10102, Args: []*tfproto.FullTypeDef{{TypeId: 9999, Attr: &tfproto.FullTypeDef_S{S: "x"}}}}
		s.graph().Node = append(s.graph().Node, n)
		s.run("evil", str)
	}},
	{"a string grows in a loop until memory ends", returnsError, func(s *smuggled) {
		cond := s.function("yes", []string{"a"}, opNode("yes", "Const", nil, "dtype", boolean, "value", &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{true}}))
		cond.Signature.OutputArg[0].Type, cond.Ret["out"] = boolean, "yes:output:0"
		s.function("twice", []string{"a"}, attr(bodyNode("join", "StringJoin", "a", "a"), "N", intAttr(2))).Ret["out"] = "join:output:0"
		s.op("loop", "StatelessWhile", in("x"), "T", types1, "cond", fn("yes"), "body", fn("twice"))
		s.run("loop", str)
	}},
	{"each of sixty joins doubles a string", returnsError, func(s *smuggled) {
		s.op("j0", "StringJoin", in("x", "x"), "N", 2)
		for i := range 60 {
			s.op(fmt.Sprint("j", i+1), "StringJoin", in(fmt.Sprint("j", i), fmt.Sprint("j", i)), "N", 2)
		}
		s.run("j60", str)
	}},
	{"strings are joined over rows until memory ends", returnsError, func(s *smuggled) {
		s.numbers("axis", dims{1}, 0)
		s.numbers("many", dims{1}, 1<<20)
		s.op("t", "Tile", in("xs", "many"), "T", str, "Tmultiples", i32)
		s.op("xs", "ExpandDims", in("x", "zero"), "T", str, "Tdim", i32)
		s.numbers("zero", dims{}, 0)
		s.op("j", "ReduceJoin", in("t", "axis"))
		s.op("js", "ExpandDims", in("j", "zero"), "T", str, "Tdim", i32)
		s.op("t2", "Tile", in("js", "many"), "T", str, "Tmultiples", i32)
		s.op("j2", "ReduceJoin", in("t2", "axis"))
		s.run("j2", str)
	}},
	{"a string is padded to a gigabyte of n-grams", returnsError, func(s *smuggled) {
		s.op("xs", "ExpandDims", in("x", "zero"), "T", str, "Tdim", i32)
		s.numbers("zero", dims{}, 0)
		s.longs("splits", dims{2}, 0, 1)
		s.op("evil", "StringNGrams", in("xs", "splits"), "separator", "", "ngram_widths", ints{1 << 30}, "left_pad", strings.Repeat("l", 1000), "right_pad", "r", "pad_width", -1, "preserve_short_sequences", false, "Tsplits", i64)
		s.run("evil", str)
	}},
	{"constants of one value have shapes of gigabytes", "", func(s *smuggled) {
		for i := range 12 {
			s.floats(fmt.Sprint("c", i), dims{1 << 30}, 1)
			s.run2(fmt.Sprint("c", i), f32)
		}
	}},
	{"a constant of one string has the shape of gigabytes", "", func(s *smuggled) {
		c := s.constant("c", "w")
		c.Attr["value"].GetTensor().TensorShape = attrOf(dims{1 << 30}).GetShape()
		s.run("c", str)
	}},
	{"batches have a thousand threads each, a thousand times", ignored, func(s *smuggled) {
		s.function("batched", []string{"a"})
		s.graph().Node = append(s.graph().Node, listNode("words", "w"))
		for i := range 100 {
			s.op(fmt.Sprint("b", i), "BatchFunction", in("words"), "f", fn("batched"), "num_batch_threads", 1000, "max_batch_size", 4, "batch_timeout_micros", 1, "Tin", types1, "Tcaptured", []tfproto.DataType{}, "Tout", types1)
			s.output(fmt.Sprint("^b", i))
		}
	}},
	{"a dataset interleaves with a thread for each of a million", returnsError, func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("d", "TensorDataset", in("a"), "Toutput_types", types1, "output_shapes", list{{}}))
		f.Signature.OutputArg[0].Type, f.Ret["out"] = variant, "d:handle:0"
		s.op("many", "RepeatDataset", stringsAnd(-1)(s), "output_types", types1, "output_shapes", list{{}})
		s.longs("million", dims{}, 1<<20)
		s.longs("uno", dims{}, 1)
		s.op("no", "Const", nil, "dtype", boolean, "value", &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{false}})
		s.op("evil", "ParallelInterleaveDataset", in("many", "million", "uno", "no", "uno", "uno"), "f", fn("f"), "Targuments", []tfproto.DataType{}, "output_types", types1, "output_shapes", list{{}})
		s.op("read", "DatasetToSingleElement", in("evil"), "output_types", types1, "output_shapes", list{{}})
		s.output("^read")
	}},
	{"a dataset has options that are junk", returnsError, func(s *smuggled) {
		s.reads("evil", "OptionsDataset", stringsAnd()(s), "serialized_options", "\xff\xff\xff\x01junk")
	}},
	{"a dataset's options ask for a million threads", ignored, func(s *smuggled) {
		// threading_options.private_threadpool_size
		s.reads("evil", "OptionsDataset", stringsAnd()(s), "serialized_options", "\x2a\x05\x10\x80\x80\x80\x04")
	}},
	{"a dataset's options ask for a million threads, and an operation applies them", "", func(s *smuggled) {
		s.op("o", "OptionsDataset", stringsAnd()(s), "output_types", types1, "output_shapes", list{{}}, "serialized_options", "\x2a\x05\x10\x80\x80\x80\x04")
		s.reads("evil", "FinalizeDataset", in("o"))
	}},
	{"a dataset's private pool has thousands of threads, a thousand times", "", func(s *smuggled) {
		s.longs("n", dims{}, 1000)
		prev := stringsAnd()(s)[0]
		for i := range 50 {
			name := fmt.Sprint("p", i)
			s.op(name, "PrivateThreadPoolDataset", in(prev, "n"), "output_types", types1, "output_shapes", list{{}})
			prev = name
		}
		s.op("read", "DatasetToSingleElement", in(prev), "output_types", types1, "output_shapes", list{{}})
		s.output("^read")
	}},
	{"the metadata of a dataset is junk", returnsError, func(s *smuggled) {
		s.reads("evil", "TakeDataset", stringsAnd(1)(s), "metadata", "\xff\xff\xff\xffjunk")
	}},
	{"a dataset maps with a billion calls at a time", returnsError, func(s *smuggled) {
		s.function("same", []string{"a"})
		s.reads("evil", "ParallelMapDatasetV2", stringsAnd(1<<30)(s), "f", fn("same"), "Targuments", []tfproto.DataType{}, "deterministic", "true")
	}},
	{"a shape has three hundred dimensions", "", func(s *smuggled) {
		d := make(dims, 300)
		s.op("evil", "Placeholder", nil, "dtype", str, "shape", d)
		s.op("i", "Identity", in("evil"), "T", str)
	}},
	{"a shape has more elements than numbers", "", func(s *smuggled) {
		s.op("evil", "VarHandleOp", nil, "dtype", f32, "shape", dims{1 << 40, 1 << 40}, "shared_name", "v")
		s.output("^evil")
	}},
	{"a shape has a dimension of minus five", returnsError, func(s *smuggled) {
		s.op("evil", "VarHandleOp", nil, "dtype", f32, "shape", dims{-5}, "shared_name", "v")
		s.output("^evil")
	}},
	{"a variable without a name for its type is destroyed twice", "", func(s *smuggled) {
		s.op("t", "TemporaryVariable", nil, "dtype", f32, "shape", dims{2}, "var_name", "v")
		s.op("d", "DestroyTemporaryVariable", in("t"), "T", f32, "var_name", "v")
		s.op("e", "DestroyTemporaryVariable", in("t", "^d"), "T", f32, "var_name", "v")
		s.run("e", f32)
	}},
	{"an equation has more labels than letters", returnsError, func(s *smuggled) {
		s.op("evil", "Einsum", given(dims{2, 2}, dims{2, 2})(s), "equation", "...ab,...,b...->......", "N", 2, "T", f32)
		s.run("evil", f32)
	}},
	{"a signature's default is of another dtype", ignored, func(s *smuggled) {
		b, _ := proto.Marshal(&tfproto.TensorProto{Dtype: i64, TensorShape: attrOf(dims{1 << 40}).GetShape(), Int64Val: []int64{1}})
		p := &tfproto.TensorProto{}
		proto.Unmarshal(b, p) //nolint:errcheck // made above
		s.signature().Defaults = map[string]*tfproto.TensorProto{"x": p}
	}},
	{"a saver restores by an operation that is not there", "", func(s *smuggled) {
		s.meta().SaverDef = &tfproto.SaverDef{FilenameTensorName: "nowhere:0", SaveTensorName: "x:9", RestoreOpName: "gone", Version: 7, MaxToKeep: -1, KeepCheckpointEveryNHours: float32(math.NaN())}
	}},
	{"an asset's path is fed to a number", returnsError, func(s *smuggled) {
		s.file("assets/w", "word\n")
		s.op("n", "Placeholder", nil, "dtype", i64, "shape", dims{})
		s.asset("n:0", "w")
		s.run("n", i64)
	}},
}

// run2 has the signature run a node of many.
func (s *smuggled) run2(output string, t tfproto.DataType) {
	s.op("shown_"+output, "Print", in("x", output), "T", str, "U", []tfproto.DataType{t}, "first_n", 0)
	s.output("^shown_" + output)
}
