package graph_test

import (
	"millrace/internal/base/tfproto"
)

const (
	str      = tfproto.DataType_DT_STRING
	i32      = tfproto.DataType_DT_INT32
	i64      = tfproto.DataType_DT_INT64
	f32      = tfproto.DataType_DT_FLOAT
	boolean  = tfproto.DataType_DT_BOOL
	resource = tfproto.DataType_DT_RESOURCE
	variant  = tfproto.DataType_DT_VARIANT
)

type (
	dims []int64  // a shape; nil: unknown
	ints []int64  // a list of numbers
	strs []string // a list of strings
	fn   string   // a function
	list []dims   // a list of shapes
)

// attrOf makes an attribute of a Go value.
func attrOf(v any) *tfproto.AttrValue {
	shape := func(d dims) *tfproto.TensorShapeProto {
		p := &tfproto.TensorShapeProto{UnknownRank: d == nil}
		for _, n := range d {
			p.Dim = append(p.Dim, &tfproto.TensorShapeProto_Dim{Size: n})
		}
		return p
	}
	items := &tfproto.AttrValue_ListValue{}
	switch v := v.(type) {
	case *tfproto.AttrValue:
		return v
	case *tfproto.TensorProto:
		return tensorAttr(v)
	case tfproto.DataType:
		return typeAttr(v)
	case []tfproto.DataType:
		return typesAttr(v...)
	case int:
		return intAttr(int64(v))
	case float32:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_F{F: v}}
	case bool:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_B{B: v}}
	case string:
		return stringAttr(v)
	case fn:
		return funcAttr(string(v))
	case dims:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: shape(v)}}
	case ints:
		items.I = v
	case strs:
		for _, s := range v {
			items.S = append(items.S, []byte(s))
		}
	case list:
		for _, d := range v {
			items.Shape = append(items.Shape, shape(d))
		}
	}
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: items}}
}

// opNode makes a node: name, operation, inputs, and its attributes as pairs.
func opNode(name, op string, inputs []string, attrs ...any) *tfproto.NodeDef {
	n := &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{}}
	for i := 0; i < len(attrs); i += 2 {
		n.Attr[attrs[i].(string)] = attrOf(attrs[i+1])
	}
	return n
}

// op adds a node to the main graph.
func (s *smuggled) op(name, op string, inputs []string, attrs ...any) {
	s.graph().Node = append(s.graph().Node, opNode(name, op, inputs, attrs...))
}

// in lists the inputs of a node.
func in(names ...string) []string { return names }

// number makes a constant of int32 with a shape.
func (s *smuggled) numbers(name string, shape dims, v ...int32) {
	s.op(name, "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(shape).GetShape(), IntVal: v})
}

// longs makes a constant of int64 with a shape.
func (s *smuggled) longs(name string, shape dims, v ...int64) {
	s.op(name, "Const", nil, "dtype", i64, "value", &tfproto.TensorProto{Dtype: i64, TensorShape: attrOf(shape).GetShape(), Int64Val: v})
}

// floats makes a constant of float32 with a shape.
func (s *smuggled) floats(name string, shape dims, v ...float32) {
	s.op(name, "Const", nil, "dtype", f32, "value", &tfproto.TensorProto{Dtype: f32, TensorShape: attrOf(shape).GetShape(), FloatVal: v})
}

// hidden gives a tensor a shape that only a run knows.
func (s *smuggled) hidden(name, of string, t tfproto.DataType) {
	s.op(name, "PlaceholderWithDefault", in(of), "dtype", t, "shape", dims(nil))
}

// caches adds a dataset of x with a cache in a file, and has the signature read
// it after some nodes.
func (s *smuggled) caches(file string, after ...string) {
	s.op("cache_data", "TensorDataset", in("x"), "Toutput_types", []tfproto.DataType{str}, "output_shapes", list{{}})
	s.reads("cache_file", "CacheDataset", append(in("cache_data", file), after...))
}

// reads adds a dataset of one string and has the signature read it.
func (s *smuggled) reads(name, op string, inputs []string, attrs ...any) {
	shape := append([]any{"output_types", []tfproto.DataType{str}, "output_shapes", list{nil}}, attrs...)
	s.op(name, op, inputs, shape...)
	s.op(name+"_read", "DatasetToSingleElement", in(name), "output_types", []tfproto.DataType{str}, "output_shapes", list{nil})
	s.output("^" + name + "_read")
}

// aliased makes a trick: a constant is empty when it is checked, gets an alias, and an
// operation that writes into its input writes a path through the alias, before the
// constant names the file of a cache.
func aliased(what string, alias func(s *smuggled) string) trick {
	return trick{"a cache's file is an empty constant, written through " + what, "", func(s *smuggled) {
		s.constant("empty", "")
		s.shape1()
		s.overwrite(alias(s))
		s.caches("empty", "^overwritten")
	}}
}

// shape1 makes the shape [1], which only a run knows.
func (s *smuggled) shape1() {
	s.numbers("zero", dims{}, 0)
	s.numbers("one", dims{}, 1)
	s.numbers("first", dims{1}, 0)
	s.op("length", "StringLength", in("x"))
	s.op("at_most_one", "Minimum", in("length", "one"), "T", i32)
	s.op("shape1", "ExpandDims", in("at_most_one", "zero"), "T", i32)
}

// overwrite writes a path through an alias of a scalar.
func (s *smuggled) overwrite(alias string) {
	s.op("as_list", "Reshape", in(alias, "shape1"), "T", str)
	s.graph().Node = append(s.graph().Node, listNode("path", s.at("written")))
	s.op("overwritten", "InplaceUpdate", in("as_list", "first", "path"), "T", str)
}

// through makes an alias by one node of one string.
func through(op string, attrs ...any) func(s *smuggled) string {
	return func(s *smuggled) string {
		s.op("alias", op, in("empty"), append([]any{"T", str}, attrs...)...)
		return "alias"
	}
}

// called makes an alias of a tensor: a call of a function that returns its argument.
func called(op string, first []string, attrs ...any) func(s *smuggled) string {
	return func(s *smuggled) string {
		s.function("same", []string{"a"})
		f := s.function("yes", []string{"a"}, opNode("c", "Const", nil, "dtype", boolean, "value", &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{false}}))
		f.Signature.OutputArg[0].Type, f.Ret["out"] = boolean, "c:output:0"
		s.op("no", "Less", in("length", "zero"), "T", i32)
		s.op("alias", op, append(first, "empty"), attrs...)
		return "alias"
	}
}

var types1 = []tfproto.DataType{str}

var channelTricks = []trick{
	aliased("its own shape", func(s *smuggled) string { return "empty" }),
	aliased("Identity", through("Identity")),
	aliased("IdentityN", func(s *smuggled) string { s.op("alias", "IdentityN", in("empty"), "T", types1); return "alias" }),
	aliased("StopGradient", through("StopGradient")),
	aliased("PreventGradient", through("PreventGradient")),
	aliased("EnsureShape", through("EnsureShape", "shape", dims{})),
	aliased("GuaranteeConst", through("GuaranteeConst")),
	aliased("PlaceholderWithDefault", func(s *smuggled) string { s.hidden("alias", "empty", str); return "alias" }),
	aliased("ExpandDims and Squeeze", func(s *smuggled) string {
		s.op("wide", "ExpandDims", in("empty", "zero"), "T", str)
		s.op("alias", "Squeeze", in("wide"), "T", str)
		return "alias"
	}),
	aliased("Pack of one", through("Pack", "N", 1)),
	aliased("Slice", func(s *smuggled) string {
		s.op("wide", "Reshape", in("empty", "shape1"), "T", str)
		s.op("alias", "Slice", in("wide", "first", "shape1"), "T", str, "Index", i32)
		return "alias"
	}),
	aliased("Split", func(s *smuggled) string {
		s.op("wide", "Reshape", in("empty", "shape1"), "T", str)
		s.op("alias", "Split", in("zero", "wide"), "T", str, "num_split", 1)
		return "alias"
	}),
	aliased("Switch and Merge", func(s *smuggled) string {
		s.op("no", "Less", in("length", "zero"), "T", i32)
		s.op("switch", "Switch", in("empty", "no"), "T", str)
		s.op("alias", "Merge", in("switch:0"), "T", str, "N", 1)
		return "alias"
	}),
	aliased("a frame of a loop", func(s *smuggled) string {
		s.op("enter", "Enter", in("empty"), "T", str, "frame_name", "f")
		s.op("alias", "Exit", in("enter"), "T", str)
		return "alias"
	}),
	aliased("a call that is not inlined", func(s *smuggled) string {
		s.function("same", []string{"a"}).Attr = map[string]*tfproto.AttrValue{"_noinline": attrOf(true)}
		s.graph().Node = append(s.graph().Node, call1("alias", "same", "empty"))
		return "alias"
	}),
	aliased("the argument of a branch", called("If", in("no"), "Tcond", boolean, "Tin", types1, "Tout", types1, "then_branch", fn("same"), "else_branch", fn("same"))),
	aliased("the variable of a while loop", called("While", nil, "T", types1, "cond", fn("yes"), "body", fn("same"))),
	aliased("one of several branches", called("Case", in("zero"), "Tin", types1, "Tout", types1, "branches",
		&tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Func: []*tfproto.NameAttrList{{Name: "same"}}}}})),
	aliased("the captured argument of a batch's function", func(s *smuggled) string {
		s.function("pick", []string{"a", "b"}).Ret["out"] = "b"
		s.graph().Node = append(s.graph().Node, listNode("words", "w"))
		s.op("alias", "BatchFunction", in("words", "empty"), "f", fn("pick"), "num_batch_threads", 1, "max_batch_size", 4, "batch_timeout_micros", 1, "Tin", types1, "Tcaptured", types1, "Tout", types1)
		return "alias"
	}),
	aliased("a variable", func(s *smuggled) string {
		attr(s.node("v", "VarHandleOp"), "shared_name", stringAttr("alias"))
		s.node("assign", "AssignVariableOp", "v", "empty")
		s.node("alias", "ReadVariableOp", "v", "^assign")
		return "alias"
	}),
	aliased("a reference variable", func(s *smuggled) string {
		s.op("v", "VariableV2", nil, "dtype", str, "shape", dims{})
		s.op("assign", "Assign", in("v", "empty"), "T", str)
		s.op("alias", "Identity", in("assign"), "T", str)
		return "alias"
	}),
	aliased("a queue", func(s *smuggled) string {
		s.op("queue", "FIFOQueueV2", nil, "component_types", types1)
		s.op("put", "QueueEnqueueV2", in("queue", "empty"), "Tcomponents", types1)
		s.op("alias", "QueueDequeueV2", in("queue", "^put"), "component_types", types1)
		return "alias"
	}),
	aliased("a staging area", func(s *smuggled) string {
		s.op("put", "Stage", in("empty"), "dtypes", types1, "shared_name", "s")
		s.op("alias", "Unstage", in("^put"), "dtypes", types1, "shared_name", "s")
		return "alias"
	}),
	aliased("a stack", func(s *smuggled) string {
		s.op("stack", "StackV2", in("one"), "elem_type", str)
		s.op("put", "StackPushV2", in("stack", "empty"), "T", str)
		s.op("alias", "StackPopV2", in("stack", "^put"), "elem_type", str)
		return "alias"
	}),
	aliased("a TensorArray", func(s *smuggled) string {
		s.op("array", "TensorArrayV3", in("one"), "dtype", str, "clear_after_read", false)
		s.op("put", "TensorArrayWriteV3", in("array", "zero", "empty", "array:1"), "T", str)
		s.op("alias", "TensorArrayReadV3", in("array", "zero", "put"), "dtype", str)
		return "alias"
	}),
	aliased("a TensorList", func(s *smuggled) string {
		s.numbers("scalar", dims{0})
		s.op("lists", "TensorListReserve", in("scalar", "one"), "element_dtype", str, "shape_type", i32)
		s.op("put", "TensorListSetItem", in("lists", "zero", "empty"), "element_dtype", str)
		s.op("alias", "TensorListGetItem", in("put", "zero", "scalar"), "element_dtype", str)
		return "alias"
	}),
	aliased("a TensorMap", func(s *smuggled) string {
		s.op("map", "EmptyTensorMap", nil)
		s.op("put", "TensorMapInsert", in("map", "one", "empty"), "key_dtype", i32, "value_dtype", str)
		s.op("alias", "TensorMapLookup", in("put", "one"), "key_dtype", i32, "value_dtype", str)
		return "alias"
	}),
	aliased("an optional", func(s *smuggled) string {
		s.op("optional", "OptionalFromValue", in("empty"), "Toutput_types", types1)
		s.op("alias", "OptionalGetValue", in("optional"), "output_types", types1, "output_shapes", list{{}})
		return "alias"
	}),
	aliased("a dataset of one tensor", func(s *smuggled) string {
		s.op("data", "TensorDataset", in("empty"), "Toutput_types", types1, "output_shapes", list{{}})
		s.op("alias", "DatasetToSingleElement", in("data"), "output_types", types1, "output_shapes", list{{}})
		return "alias"
	}),
	aliased("a composite tensor", func(s *smuggled) string {
		s.op("alias_of", "CompositeTensorVariantFromComponents", in("empty"), "Tcomponents", types1, "metadata", "")
		s.op("alias", "CompositeTensorVariantToComponents", in("alias_of"), "Tcomponents", types1, "metadata", "")
		return "alias"
	}),
	aliased("the gradient of a function", func(s *smuggled) string {
		s.function("same", []string{"a"})
		s.op("alias", "SymbolicGradient", in("x", "empty"), "Tin", []tfproto.DataType{str, str}, "Tout", types1, "f", fn("same"))
		return "alias"
	}),
	{"the path of an asset is overwritten between its placeholder and its table", "", func(s *smuggled) {
		s.file("assets/w", "word\n")
		s.node("a", "Placeholder")
		s.asset("a:0", "w")
		s.shape1()
		attr(s.node("x_default", "PlaceholderWithDefault", "a"), "shape", attrOf(dims{}))
		s.numbers("list", dims{1}, 1)
		s.op("as_list", "Reshape", in("a", "list"), "T", str)
		s.graph().Node = append(s.graph().Node, listNode("path", s.at("secret")))
		s.op("overwritten", "InplaceUpdate", in("as_list", "first", "path"), "T", str)
		s.op("table", "HashTableV2", nil, "key_dtype", str, "value_dtype", i64)
		s.graph().Node = append(s.graph().Node, tableInit("init", "table", "a"))
		s.graph().Node[len(s.graph().Node)-1].Input = in("table", "a", "^overwritten")
		s.initOp("init")
	}},
	{"the value of an asset's variable is overwritten through its reader", "", func(s *smuggled) {
		assetVariable(s)
		s.shape1()
		s.numbers("list", dims{1}, 1)
		s.op("as_list", "Reshape", in("read", "list"), "T", str)
		s.graph().Node = append(s.graph().Node, listNode("path", s.at("secret")))
		s.op("overwritten", "InplaceUpdate", in("as_list", "first", "path"), "T", str)
		for _, n := range s.graph().Node {
			switch n.Name {
			case "read":
				n.Input = append(n.Input, "^assign")
			case "init":
				n.Input = append(n.Input, "^overwritten")
			}
		}
		s.initOp("init")
	}},
	{"the saver's filename is overwritten before the restore operation reads it", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.shape1()
		s.numbers("list", dims{1}, 1)
		s.op("as_list", "Reshape", in("filename", "list"), "T", str)
		s.graph().Node = append(s.graph().Node, listNode("path", s.at("secret")), listNode("names", "v"), listNode("whole", ""))
		s.op("overwritten", "InplaceUpdate", in("as_list", "first", "path"), "T", str)
		s.op("restored", "RestoreV2", in("filename", "names", "whole", "^overwritten"), "dtypes", types1)
		s.meta().SaverDef.RestoreOpName = "restored"
	}},
	{"a cache's file is an argument that the function overwrites", "", func(s *smuggled) {
		s.constant("none", "")
		s.shape1()
		s.function("cache", []string{"n", "p"}, append(cacheNodes("n"),
			numberNode("zero", 0), opNode("one", "ExpandDims", in("zero:output:0", "zero:output:0"), "T", i32),
			opNode("wide", "ExpandDims", in("n", "zero:output:0"), "T", str), opNode("wide_path", "ExpandDims", in("p", "zero:output:0"), "T", str),
			opNode("w", "InplaceUpdate", in("wide:output:0", "one:output:0", "wide_path:output:0"), "T", str),
			opNode("e", "DatasetToSingleElement", in("c:handle:0", "^w"), "output_types", types1, "output_shapes", list{{}}))...)
		s.constant("where", s.at("written"))
		s.graph().Node = append(s.graph().Node, call1("c", "cache", "none", "where"))
		s.output("^c")
	}},
}
