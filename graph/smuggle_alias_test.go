package graph_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
)

// tricks lists all tricks.
var tricks = slices.Concat(hostTricks, aliasTricks, channelTricks, handleTricks, endTricks, kindTricks, checkpointTricks, valueTricks, variableTricks)

// aliasTricks are the tricks that change a name after it was checked, or make a handle.
var aliasTricks = []trick{
	// Writing to the buffer of a tensor that others hold.
	{"the name of a cache is a constant that another operation writes to", "", func(s *smuggled) {
		s.vector("f", "")
		s.update("u", "f")
		s.cacheOf("f")
		s.output("^u")
	}},
	{"the name of a cache is a constant that another operation writes to through its shape", "", func(s *smuggled) {
		s.constant("f", "")
		s.reshape("long", "f")
		s.update("u", "long")
		s.cacheOf("f")
		s.output("^u")
	}},
	{"the name of a cache is written to in a function that gets it as an argument", "", func(s *smuggled) {
		s.constant("f", "")
		s.reshape("long", "f")
		s.function("g", []string{"a"}, updateNodes("u", "a", s.at("written"), ":output:0")...)
		s.graph().Node = append(s.graph().Node, call1("call", "g", "long"))
		s.cacheOf("f")
		s.output("^call")
	}},
	{"the path of an asset is written to through its shape", "", func(s *smuggled) {
		s.file("assets/w", "w\n")
		s.node("a", "Placeholder")
		s.asset("a:0", "w")
		s.reshape("long", "a")
		s.update("u", "long")
		s.graph().Node = append(s.graph().Node, tableInit("i", "table", "a"))
		s.table("table")
		s.graph().Node[len(s.graph().Node)-2].Input = append(s.graph().Node[len(s.graph().Node)-2].Input, "^u")
		s.initOp("i")
	}},
	{"the variable with an asset's path is read, and what was read is written to", "", func(s *smuggled) {
		assetVariable(s)
		s.reshape("long", "read")
		s.update("u", "long")
		s.initOp("u")
	}},
	{"the saver's filename is written to", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.reshape("long", "filename")
		s.update("u", "long")
	}},
	{"a tensor of its own is written to, and a signature reads it", "", func(s *smuggled) {
		s.empty("e")
		s.update("u", "e")
		s.node("reader", "Identity", "e")
	}},
	{"a tensor of its own is written to, and a signature feeds it", "", func(s *smuggled) {
		s.empty("e")
		s.update("u", "e")
		s.signature().Inputs["e"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "e:0"}, Dtype: tfproto.DataType_DT_STRING}
	}},
	{"a map function is the operation that writes to its argument", "", func(s *smuggled) {
		attr(s.node("d", "MapDataset", "x"), "f", funcAttr("InplaceUpdate"))
	}},

	// Making a handle or a variant out of bytes.
	{"a handle is parsed from a string", "", func(s *smuggled) {
		attr(s.node("p", "ParseTensor", "x"), "out_type", typeAttr(tfproto.DataType_DT_RESOURCE))
	}},
	{"a variant is parsed from a string in a function", "", func(s *smuggled) {
		s.function("f", []string{"a"}, attr(bodyNode("p", "ParseTensor", "a"), "out_type", typeAttr(tfproto.DataType_DT_VARIANT)))
	}},
	{"what is parsed from a string is left to a caller", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, attr(bodyNode("p", "ParseTensor", "a"), "out_type", leftAttr("T")))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "T", Type: "type"}}
	}},
	{"handles are parsed from a sparse tensor of strings", "", func(s *smuggled) {
		attr(s.node("p", "DeserializeSparse", "x"), "dtype", typeAttr(tfproto.DataType_DT_RESOURCE))
	}},
	{"handles are parsed from many sparse tensors of strings", "", func(s *smuggled) {
		attr(s.node("p", "DeserializeManySparse", "x"), "dtype", typeAttr(tfproto.DataType_DT_RESOURCE))
	}},
	{"variants are parsed from protocol buffers", "", func(s *smuggled) {
		attr(s.node("p", "DecodeProtoV2", "x"), "output_types", typesAttr(tfproto.DataType_DT_STRING, tfproto.DataType_DT_VARIANT))
	}},
	{"handles are restored from a checkpoint", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.graph().Node = append(s.graph().Node, listNode("names", "v"))
		attr(s.node("r", "RestoreV2", "filename", "names", "names"), "dtypes", typesAttr(tfproto.DataType_DT_RESOURCE))
		s.meta().SaverDef.RestoreOpName = "r"
	}},
	{"an iterator is found by a constant string", "", func(s *smuggled) {
		s.constant("h", "no handle")
		s.node("i", "IteratorFromStringHandle", "h")
	}},
	{"an iterator takes its state from a variant that was parsed", "", func(s *smuggled) {
		attr(s.node("p", "ParseTensor", "x"), "out_type", typeAttr(tfproto.DataType_DT_VARIANT))
		s.node("i", "AnonymousIteratorV3")
		s.node("d", "DeserializeIterator", "i", "p")
	}},
	{"a session's tensor is found by a constant string", "", func(s *smuggled) {
		s.constant("h", "no handle")
		s.node("t", "GetSessionTensor", "h")
	}},
	{"an array of tensors is found by a constant string, in a graph of an old version", "", func(s *smuggled) {
		s.graph().Versions.Producer = 20
		s.graph().Node = append(s.graph().Node, constantNode("h", "a", "b"), numberNode("zero", 0), zeroFloat("flow"))
		attr(s.node("r", "TensorArrayReadV2", "h", "zero", "flow"), "dtype", typeAttr(tfproto.DataType_DT_STRING))
	}},
	{"a stack is found by the strings of a variable", "", func(s *smuggled) {
		attr(s.node("v", "VariableV2"), "dtype", typeAttr(tfproto.DataType_DT_STRING))
		attr(s.node("p", "StackPop", "v"), "elem_type", typeAttr(tfproto.DataType_DT_STRING))
	}},
	{"the handle of a queue is assigned", "", func(s *smuggled) {
		attr(s.node("q", "FIFOQueue"), "component_types", typesAttr(tfproto.DataType_DT_STRING))
		attr(s.node("w", "Assign", "q", "x"), "T", typeAttr(tfproto.DataType_DT_STRING))
	}},
	{"Identity passes a reference on", "", func(s *smuggled) {
		attr(s.node("i", "Identity", "x"), "T", typeAttr(tfproto.DataType_DT_STRING_REF))
	}},
	{"a constant of dtype variant is written as content", "", func(s *smuggled) {
		attr(attr(s.node("v", "Const"), "dtype", typeAttr(tfproto.DataType_DT_VARIANT)), "value",
			tensorAttr(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT, TensorContent: []byte("x")}))
	}},
	{"a constant list of tensors says that it has 2^34 elements", "", func(s *smuggled) {
		attr(attr(s.node("v", "Const"), "dtype", typeAttr(tfproto.DataType_DT_VARIANT)), "value",
			tensorAttr(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT, VariantVal: []*tfproto.VariantTensorDataProto{
				{TypeName: "tensorflow::TensorList", Metadata: []byte("\xff\xff\xff\xff\x7f\x01\x00")}}}))
	}},

	// Models that are accepted.
	{"a tensor of its own is written to", "nothing else holds it", func(s *smuggled) {
		s.empty("e")
		s.update("u", "e")
		s.update("u2", "u")
		s.output("^u2")
	}},
	{"printing goes to stdout", "it goes to stderr in its place", func(s *smuggled) {
		attr(s.node("p", "PrintV2", "x"), "output_stream", stringAttr("stdout"))
		s.output("^p")
	}},
	{"a queue of TensorFlow 1 is closed", "its handle is its own", func(s *smuggled) {
		attr(s.node("q", "FIFOQueue"), "component_types", typesAttr(tfproto.DataType_DT_STRING))
		s.node("w", "QueueClose", "q")
		s.output("^w")
	}},
}

// vector adds a constant list of one string.
func (s *smuggled) vector(name, value string) {
	s.graph().Node = append(s.graph().Node, listNode(name, value))
}

// reshape adds a list of one string that has the buffer of a scalar.
func (s *smuggled) reshape(name, input string) {
	shape := numberNode(name+"_shape", 1)
	shape.Attr["value"].GetTensor().TensorShape.Dim = []*tfproto.TensorShapeProto_Dim{{Size: 1}}
	s.graph().Node = append(s.graph().Node, shape)
	attr(s.node(name, "Reshape", input, name+"_shape"), "T", typeAttr(tfproto.DataType_DT_STRING))
}

// empty adds a list of one string that nothing else holds.
func (s *smuggled) empty(name string) {
	shape := numberNode(name+"_shape", 1)
	shape.Attr["value"].GetTensor().TensorShape.Dim = []*tfproto.TensorShapeProto_Dim{{Size: 1}}
	s.graph().Node = append(s.graph().Node, shape)
	attr(s.node(name, "Empty", name+"_shape"), "dtype", typeAttr(tfproto.DataType_DT_STRING))
}

// update adds a node that writes a path of the host to the buffer of a list of one string.
func (s *smuggled) update(name, input string) {
	s.graph().Node = append(s.graph().Node, updateNodes(name, input, s.at("written"), "")...)
}

// updateNodes make such a node; output follows the names of nodes where it names their
// output.
func updateNodes(name, input, value, output string) []*tfproto.NodeDef {
	index := numberNode(name+"_index", 0)
	index.Attr["value"].GetTensor().TensorShape.Dim = []*tfproto.TensorShapeProto_Dim{{Size: 1}}
	n := bodyNode(name, "InplaceUpdate", input, name+"_index"+output, name+"_value"+output)
	return []*tfproto.NodeDef{index, listNode(name+"_value", value), attr(n, "T", typeAttr(tfproto.DataType_DT_STRING))}
}

// cacheOf adds a dataset with a cache in a file.
func (s *smuggled) cacheOf(file string) {
	nodes := cacheNodes(file)
	nodes[1].Input[0] = "d"
	s.graph().Node = append(s.graph().Node, nodes...)
	s.output("^c")
}

// table adds a table from words to numbers.
func (s *smuggled) table(name string) {
	attr(attr(s.node(name, "HashTableV2"), "key_dtype", typeAttr(tfproto.DataType_DT_STRING)), "value_dtype", typeAttr(tfproto.DataType_DT_INT64))
}

// zeroFloat makes a constant.
func zeroFloat(name string) *tfproto.NodeDef {
	n := attr(bodyNode(name, "Const"), "dtype", typeAttr(tfproto.DataType_DT_FLOAT))
	return attr(n, "value", tensorAttr(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT,
		TensorShape: &tfproto.TensorShapeProto{}, FloatVal: []float32{0}}))
}

// A model's prints do not go to the output of the program, which may consist of rows of
// data.
func TestPrintsToStderr(t *testing.T) {
	i := slices.IndexFunc(tricks, func(t trick) bool { return t.what == "printing goes to stdout" })
	s := newSmuggled(t, filepath.Join(t.TempDir(), "model"), t.TempDir())
	tricks[i].build(s)
	s.write()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestTrickChild$", "-test.v")
	cmd.Env = append(os.Environ(), "MILLRACE_TEST_TRICKS="+s.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), "ran model") {
		t.Fatalf("%v\n%s\n%s", err, stdout.String(), stderr.String())
	}
	lines := func(b bytes.Buffer) int { return strings.Count("\n"+b.String(), "\nvalue") }
	if lines(stdout) != 0 || lines(stderr) != 1 {
		t.Errorf("stdout:\n%s\nstderr:\n%s", stdout.String(), stderr.String())
	}
}
