package graph_test

import (
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// handleBytes are a serialized tensor with the handle of a variable.
func handleBytes(name string) string {
	data, _ := proto.Marshal(&tfproto.TensorProto{Dtype: resource, TensorShape: &tfproto.TensorShapeProto{},
		ResourceHandleVal: []*tfproto.ResourceHandleProto{{Device: "/job:localhost/replica:0/task:0/device:CPU:0", Container: "localhost", Name: name,
			HashCode: 0, MaybeTypeName: "tensorflow::Var"}}})
	return string(data)
}

// variantBytes are a serialized tensor of dtype variant that lies about itself.
func variantBytes(typeName, metadata string) string {
	data, _ := proto.Marshal(&tfproto.TensorProto{Dtype: variant, TensorShape: &tfproto.TensorShapeProto{},
		VariantVal: []*tfproto.VariantTensorDataProto{{TypeName: typeName, Metadata: []byte(metadata)}}})
	return string(data)
}

// parsesTo adds a tensor that is parsed from bytes.
func (s *smuggled) parsesTo(name, bytes string, t tfproto.DataType) {
	s.constant(name+"_bytes", bytes)
	s.op(name, "ParseTensor", in(name+"_bytes"), "out_type", t)
}

// sparseOf adds a serialized sparse tensor: bytes of indices, values and shape.
func (s *smuggled) sparseOf(name, bytes string) {
	number := func(shape dims, v ...int64) string {
		data, _ := proto.Marshal(&tfproto.TensorProto{Dtype: i64, TensorShape: attrOf(shape).GetShape(), Int64Val: v})
		return string(data)
	}
	s.constant(name, number(dims{1, 1}, 0), bytes, number(dims{1}, 1))
}

// writesAsset has the init operation assign a path to the variable of an asset,
// through a handle that is not the variable's node.
func writesAsset(s *smuggled, handle string) {
	assetVariable(s)
	s.constant("path", s.at("secret"))
	s.op("overwritten", "AssignVariableOp", in(handle, "path", "^assign"), "dtype", str)
	for _, n := range s.graph().Node {
		switch n.Name {
		case "read":
			n.Input = append(n.Input, "^overwritten")
		}
	}
	s.initOp("init")
}

// run has the signature run a node that TensorFlow could otherwise prune, since it is
// stateless.
func (s *smuggled) run(output string, t tfproto.DataType) {
	s.op("shown", "Print", in("x", output), "T", str, "U", []tfproto.DataType{t}, "first_n", 0)
	s.output("^shown")
}

// refused makes a trick of one node that the signature runs. t is the type of its
// output, or 0.
func refused(what, op string, t tfproto.DataType, inputs func(s *smuggled) []string, attrs ...any) trick {
	return trick{what, "", func(s *smuggled) {
		var from []string
		if inputs != nil {
			from = inputs(s)
		}
		s.op("evil", op, from, attrs...)
		if s.output("^evil"); t != 0 {
			s.run("evil", t)
		}
	}}
}

// returnsError says that TensorFlow loads or runs a model with an error.
const returnsError = "TensorFlow returns an error"

// failed makes a trick one that TensorFlow returns an error for.
func failed(t trick) trick {
	t.harmless = returnsError
	return t
}

// failing is refused for a node that TensorFlow returns an error for.
func failing(what, op string, t tfproto.DataType, inputs func(s *smuggled) []string, attrs ...any) trick {
	return failed(refused(what, op, t, inputs, attrs...))
}

// text makes a constant of strings the input of a node.
func text(values ...string) func(s *smuggled) []string {
	return func(s *smuggled) []string { s.constant("text", values...); return in("text") }
}

var handleTricks = []trick{
	{"the variable with an asset's path is assigned by a handle parsed from bytes", "", func(s *smuggled) {
		s.parsesTo("handle", handleBytes("v"), resource)
		writesAsset(s, "handle")
	}},
	{"the variable with an asset's path is assigned by a handle in a serialized sparse tensor", "", func(s *smuggled) {
		s.sparseOf("sparse", handleBytes("v"))
		s.op("handles", "DeserializeSparse", in("sparse"), "dtype", resource, "Tserialized", str)
		s.numbers("no_dims", dims{0})
		s.op("handle", "Reshape", in("handles:1", "no_dims"), "T", resource, "Tshape", i32)
		writesAsset(s, "handle")
	}},
	refused("a handle is parsed from what a signature feeds", "ParseTensor", resource, func(s *smuggled) []string { return in("x") }, "out_type", resource),
	{"a dataset's map function parses a handle", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("p", "ParseTensor", in("a"), "out_type", resource))
		f.Signature.OutputArg[0].Type, f.Ret["out"] = resource, "p:output:0"
		s.op("data", "TensorDataset", in("x"), "Toutput_types", types1, "output_shapes", list{{}})
		s.op("map", "MapDataset", in("data"), "f", fn("f"), "Targuments", []tfproto.DataType{}, "output_types", []tfproto.DataType{resource}, "output_shapes", list{{}})
		s.op("one", "DatasetToSingleElement", in("map"), "output_types", []tfproto.DataType{resource}, "output_shapes", list{{}})
		s.output("^one")
	}},
	{"what a function parses is left to its caller", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("p", "ParseTensor", in("a"), "out_type", leftAttr("T")))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "T", Type: "type"}}
		s.op("c", "StatefulPartitionedCall", in("x"), "Tin", types1, "Tout", types1,
			"f", &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "f", Attr: map[string]*tfproto.AttrValue{"T": typeAttr(resource)}}}})
		s.run("c", str)
	}},
	{"a list of tensors is parsed from bytes that lie about it", "", func(s *smuggled) {
		s.parsesTo("parsed", variantBytes("tensorflow::TensorList", "\xff\xff\xff\x7f\x01\x05"), variant)
		s.op("length", "TensorListLength", in("parsed"))
		s.run("length", i32)
	}},
	{"a list of tensors in a constant lies about itself", "", func(s *smuggled) {
		attr(s.node("c", "Const"), "value", tensorAttr(&tfproto.TensorProto{Dtype: variant, TensorShape: &tfproto.TensorShapeProto{},
			VariantVal: []*tfproto.VariantTensorDataProto{{TypeName: "tensorflow::TensorList", Metadata: []byte("\xff\xff\xff\x7f\x01\x05")}}}))
		s.graph().Node[len(s.graph().Node)-1].Attr["dtype"] = typeAttr(variant)
		s.op("length", "TensorListLength", in("c"))
		s.run("length", i32)
	}},
	{"an iterator is deserialized from a parsed variant", "", func(s *smuggled) {
		s.parsesTo("parsed", variantBytes("tensorflow::IteratorVariantSerializer", "x"), variant)
		s.op("it", "IteratorV2", nil, "shared_name", "i", "container", "", "output_types", types1, "output_shapes", list{{}})
		s.op("de", "DeserializeIterator", in("it", "parsed"))
		s.output("^de")
	}},
	{"a dataset is parsed from bytes", "", func(s *smuggled) {
		s.parsesTo("parsed", variantBytes("tensorflow::DatasetVariantWrapper", "x"), variant)
		s.op("e", "DatasetToSingleElement", in("parsed"), "output_types", types1, "output_shapes", list{{}})
		s.output("^e")
	}},
	{"a sparse tensor is read from a variant that is not a tensor", returnsError, func(s *smuggled) {
		s.op("map", "EmptyTensorMap", nil)
		s.op("maps", "Pack", in("map", "map", "map"), "T", variant, "N", 3)
		s.op("de", "DeserializeSparse", in("maps"), "dtype", str, "Tserialized", variant)
		s.run("de", i64)
	}},
	{"many sparse tensors have values of dtype variant", "", func(s *smuggled) {
		s.sparseOf("sparse", variantBytes("tensorflow::TensorList", "x"))
		s.numbers("axis", dims{}, 0)
		s.op("rows", "ExpandDims", in("sparse", "axis"), "T", str)
		s.op("de", "DeserializeManySparse", in("rows"), "dtype", variant)
		s.run("de", i64)
	}},
	refused("an iterator is named by a string", "IteratorFromStringHandleV2", 0, text(handleBytes("v")), "output_types", types1, "output_shapes", list{{}}),
	refused("an iterator is named by what a signature feeds", "IteratorFromStringHandle", 0, func(s *smuggled) []string { return in("x") }, "output_types", types1),
	refused("an iterator of several devices is named by a string", "MultiDeviceIteratorFromStringHandle", 0, text("x"), "output_types", types1),
	refused("a tensor of the session is named by a constant, which TensorFlow folds", "GetSessionTensor", str, text("x"), "dtype", str),
	refused("a tensor of the session is deleted by its name", "DeleteSessionTensor", 0, text("x")),
	refused("a tensor is kept in the session", "GetSessionHandleV2", 0, text("x"), "T", str),
	{"a TensorArray is named by a constant", "", func(s *smuggled) {
		s.constant("text", "localhost", "v")
		s.numbers("zero", dims{}, 0)
		s.floats("flow", dims{}, 0)
		s.op("read", "TensorArrayReadV2", in("text", "zero", "flow"), "dtype", str)
		s.output("^read")
	}},
	{"a reference variable of strings is the handle of a stack", "", func(s *smuggled) {
		s.op("forged", "VariableV2", nil, "dtype", str, "shape", dims{2})
		s.constant("text", "localhost", "v")
		s.op("assign", "Assign", in("forged", "text"), "T", str)
		s.op("pop", "StackPop", in("assign"), "elem_type", str)
		s.output("^pop")
	}},
	{"a reference variable of strings is the handle of a table that is read from an asset", "", func(s *smuggled) {
		s.file("assets/w", "word\n")
		s.node("a", "Placeholder")
		s.asset("a:0", "w")
		s.op("forged", "VariableV2", nil, "dtype", str, "shape", dims{2})
		s.constant("text", "localhost", "v")
		s.op("assign", "Assign", in("forged", "text"), "T", str)
		s.op("init", "InitializeTableFromTextFile", in("assign", "a"), "key_index", -2, "value_index", -1)
		s.initOp("init")
	}},
	{"a placeholder of dtype resource is an input of the signature", returnsError, func(s *smuggled) {
		s.op("r", "Placeholder", nil, "dtype", resource, "shape", dims{})
		s.op("read", "ReadVariableOp", in("r"), "dtype", str)
		s.signature().Inputs["r"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "r:0"}, Dtype: resource, TensorShape: &tfproto.TensorShapeProto{}}
	}},
	{"the items of a table are taken for numbers", returnsError, func(s *smuggled) {
		s.op("table", "MutableHashTableV2", nil, "key_dtype", str, "value_dtype", i64, "shared_name", "t")
		f := s.function("export", []string{"a"}, opNode("e", "LookupTableExportV2", in("a"), "Tkeys", i64, "Tvalues", i64))
		f.Signature.InputArg[0].Type, f.Signature.OutputArg[0].Type, f.Ret["out"] = resource, i64, "e:keys:0"
		s.op("c", "StatefulPartitionedCall", in("table"), "Tin", []tfproto.DataType{resource}, "Tout", []tfproto.DataType{i64}, "f", fn("export"))
		s.run("c", i64)
	}},
	{"a checkpoint restores a handle", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.graph().Node = append(s.graph().Node, listNode("names", "v"), listNode("whole", ""))
		s.op("restored", "RestoreV2", in("filename", "names", "whole"), "dtypes", []tfproto.DataType{resource})
		s.meta().SaverDef.RestoreOpName = "restored"
	}},
	{"a message's field is taken for a handle", "", func(s *smuggled) {
		s.op("d", "DecodeProtoV2", in("x"), "message_type", "tensorflow.Example", "field_names", strs{"features"}, "output_types", []tfproto.DataType{resource})
		s.output("^d")
	}},
	{"an item of a compressed element is a handle", "", func(s *smuggled) {
		s.parsesTo("parsed", variantBytes("CompressedElement", "x"), variant)
		s.op("u", "UncompressElement", in("parsed"), "output_types", []tfproto.DataType{resource}, "output_shapes", list{{}})
		s.run("u", resource)
	}},
}
