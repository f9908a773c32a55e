package graph_test

import (
	"bytes"
	"os"
	"strings"
	"syscall"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// trick is one way to make a model touch something outside its folder.
type trick struct {
	what     string // as in docs/audit/models.md
	harmless string // why it is loaded; "": it is refused
	build    func(s *smuggled)
}

// hostTricks use an operation that touches the host. They differ in where they hide it.
var hostTricks = []trick{
	// Where an operation can stand.
	{"a signature reads a file", "", func(s *smuggled) { s.constant("f", s.at("secret")); s.node("r", "ReadFile", "f"); s.output("^r") }},
	{"a signature writes a file, by a control input", "", func(s *smuggled) { s.node("w", "WriteFile", "x", "x"); s.output("^w") }},
	{"a node that nothing reaches reads a pipe; TensorFlow evaluates it as it imports the graph", "", func(s *smuggled) {
		s.constant("f", s.at("pipe"))
		s.node("r", "ReadFile", "f")
		s.node("d", "DecodeRaw", "r")
		s.node("z", "Reshape", "x", "d")
	}},
	{"a node that nothing reaches writes its input for the debugger", "", func(s *smuggled) {
		s.constant("f", "v")
		attr(s.node("d", "DebugIdentityV3", "f"), "debug_urls", stringAttr("file://"+s.at("written")))
		s.node("z", "Reshape", "x", "d")
	}},
	{"a function that nothing calls writes", "", func(s *smuggled) { s.writer("w") }},
	{"a called function writes", "", func(s *smuggled) {
		s.writer("w")
		s.graph().Node = append(s.graph().Node, call1("c", "w", "x"))
		s.output("^c")
	}},
	{"a node has a function for an operation", "", func(s *smuggled) { s.writer("w"); s.node("c", "w", "x"); s.output("^c") }},
	{"the default of a function's attribute names a function that writes", "", func(s *smuggled) {
		s.writer("w")
		f := s.function("f", []string{"a"}, attr(bodyNode("c", "StatefulPartitionedCall", "a"), "f", leftAttr("F")))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "F", Type: "func", DefaultValue: funcAttr("w")}}
		s.node("c", "f", "x")
	}},
	{"the default of a function's attribute names an operation that reads", "", func(s *smuggled) {
		f := s.function("f", []string{"a"})
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "F", Type: "func", DefaultValue: funcAttr("ReadFile")}}
	}},
	{"a function's own attribute names an operation that reads", "", func(s *smuggled) {
		s.function("f", []string{"a"}).Attr = map[string]*tfproto.AttrValue{"_f": funcAttr("ReadFile")}
	}},
	{"an attribute of a function's argument names an operation that reads", "", func(s *smuggled) {
		s.function("f", []string{"a"}).ArgAttr = map[uint32]*tfproto.FunctionDef_ArgAttrs{0: {Attr: map[string]*tfproto.AttrValue{"_f": funcAttr("ReadFile")}}}
	}},
	{"an attribute calls an operation as if it were a function", "", func(s *smuggled) {
		s.graph().Node = append(s.graph().Node, call1("c", "ReadFile", "x"))
	}},
	{"a private attribute names a function that writes", "", func(s *smuggled) { s.writer("w"); attr(s.node("i", "Identity", "x"), "_later", funcAttr("w")) }},
	{"the gradient of an operation is a function that writes", "", func(s *smuggled) {
		s.writer("w")
		s.graph().Library.Gradient = []*tfproto.GradientDef{{FunctionName: "Identity", GradientFunc: "w"}}
		attr(s.node("g", "SymbolicGradient", "x", "x"), "f", funcAttr("Identity"))
	}},
	{"the gradient of a function is an operation that writes", "", func(s *smuggled) {
		s.function("f", []string{"a"})
		s.graph().Library.Gradient = []*tfproto.GradientDef{{FunctionName: "f", GradientFunc: "WriteFile"}}
	}},
	{"a function that implements the same interface as a called one writes", "", func(s *smuggled) {
		s.function("f", []string{"a"}).Attr = map[string]*tfproto.AttrValue{"api_implements": stringAttr("i")}
		s.writer("w").Attr = map[string]*tfproto.AttrValue{"api_implements": stringAttr("i")}
		s.graph().Node = append(s.graph().Node, call1("c", "f", "x"))
	}},
	{"a function has the name of an operation", "", func(s *smuggled) { s.function("Abs", []string{"a"}) }},
	{"a dataset's map function writes", "", func(s *smuggled) { s.writer("w"); attr(s.node("d", "MapDataset", "x"), "f", funcAttr("w")) }},
	{"an iterator's factory reads a text file", "", func(s *smuggled) {
		s.function("factory", nil, constantNode("f", s.at("secret")), bodyNode("d", "TextLineDataset", "f:output:0", "f:output:0", "f:output:0"))
		attr(s.node("i", "OneShotIterator"), "dataset_factory", funcAttr("factory"))
	}},
	{"a loop's body sends to another machine", "", func(s *smuggled) {
		s.function("yes", []string{"a"})
		s.function("body", []string{"a"}, bodyNode("rpc", "RpcClient", "a", "a"))
		attr(attr(s.node("l", "While", "x"), "cond", funcAttr("yes")), "body", funcAttr("body"))
	}},
	{"a dataset is read from a data service", "", func(s *smuggled) { s.node("d", "DataServiceDatasetV4", "x") }},
	{"the file system is configured", "", func(s *smuggled) { s.node("c", "FileSystemSetConfiguration", "x", "x", "x") }},
	{"a dataset is a program in a string", "", func(s *smuggled) { s.node("d", "DatasetFromGraph", "x") }},
	{"MLIR is a program in a string", "", func(s *smuggled) { s.node("d", "MlirPassthroughOp", "x") }},
	{"Python is called", "", func(s *smuggled) { s.node("p", "PyFunc", "x") }},
	{"the process is ended", "", func(s *smuggled) { s.node("a", "Abort") }},
	{"a summary writer is made in a function that nothing calls", "", func(s *smuggled) {
		s.function("f", []string{"a"}, bodyNode("w", "CreateSummaryFileWriter", "a", "a", "a", "a", "a"))
	}},
	{"an operation is of no TensorFlow", "", func(s *smuggled) { s.node("o", "OwnOperation", "x") }},

	// Operations that are allowed under conditions.
	{"a cache's file is a constant", "", func(s *smuggled) { s.constant("f", s.at("written")); s.node("c", "CacheDatasetV2", "x", "f", "x") }},
	{"a cache's file is what a signature feeds over an empty constant", "", func(s *smuggled) {
		s.constant("f", "")
		s.node("c", "CacheDatasetV2", "x", "f", "x")
		s.signature().Inputs["f"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "f:0"}, Dtype: tfproto.DataType_DT_STRING}
	}},
	{"a cache's file is an argument, and another function calls with another one", "", func(s *smuggled) {
		s.constant("none", "")
		s.constant("f", s.at("written"))
		s.function("cache", []string{"n"}, cacheNodes("n")...)
		s.graph().Node = append(s.graph().Node, call1("a", "cache", "none"), call1("b", "cache", "f"))
	}},
	{"a cache's file is an argument, and the function is bound to an attribute of the one called", "", func(s *smuggled) {
		s.constant("none", "")
		s.function("cache", []string{"n"}, cacheNodes("n")...)
		s.function("f", []string{"a"}).Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "F", Type: "func"}}
		s.graph().Node = append(s.graph().Node, attr(call1("a", "f", "none"), "f", funcAttr("f", "F", "cache")))
	}},
	{"a function calls what its caller's attribute names", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, attr(bodyNode("c", "StatefulPartitionedCall", "a"), "f", leftAttr("F")))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "F", Type: "func"}}
	}},
	{"an attribute that a function leaves to its caller is not declared", "", func(s *smuggled) {
		s.function("f", []string{"a"}, attr(bodyNode("c", "Identity", "a"), "T", leftAttr("T")))
	}},
	{"printing goes to a file", "", func(s *smuggled) {
		attr(s.node("p", "PrintV2", "x"), "output_stream", stringAttr("file://"+s.at("written")))
	}},
	{"where printing goes is left to a caller", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, attr(bodyNode("p", "PrintV2", "a"), "output_stream", leftAttr("where")))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "where", Type: "type"}}
	}},
	{"message descriptors are read from a file", "", func(s *smuggled) {
		attr(s.node("d", "DecodeProtoV2", "x"), "descriptor_source", stringAttr(s.at("secret")))
	}},
	{"a sampler's vocabulary is a file", "", func(s *smuggled) {
		attr(s.node("v", "FixedUnigramCandidateSampler", "x"), "vocab_file", stringAttr(s.at("secret")))
	}},
	{"a constant of strings has two contents", "", func(s *smuggled) {
		c := s.constant("f", "")
		c.Attr["value"].GetTensor().TensorContent = append([]byte{byte(len(s.at("written")))}, s.at("written")...)
		s.node("c", "CacheDatasetV2", "x", "f", "x")
	}},
	{"a cache's file is a constant written as content", "", func(s *smuggled) {
		c := s.constant("f")
		c.Attr["value"].GetTensor().TensorContent = append([]byte{byte(len(s.at("written")))}, s.at("written")...)
		s.node("c", "CacheDatasetV2", "x", "f", "x")
	}},
	{"a constant names a variable", "", func(s *smuggled) {
		attr(s.node("r", "Const"), "value", tensorAttr(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE,
			ResourceHandleVal: []*tfproto.ResourceHandleProto{{Name: "v", Container: "localhost"}}}))
	}},
	{"a constant in a function's default names a variable", "", func(s *smuggled) {
		s.function("f", []string{"a"}).Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "t", Type: "tensor",
			DefaultValue: tensorAttr(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE})}}
	}},
	{"a constant of dtype variant holds what cannot be checked", "", func(s *smuggled) {
		attr(s.node("v", "Const"), "value", tensorAttr(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT,
			VariantVal: []*tfproto.VariantTensorDataProto{{TypeName: "tensorflow::DatasetVariantWrapper"}}}))
	}},
	{"StableHLO calls a function of the process", "", func(s *smuggled) {
		attr(s.node("m", "XlaCallModule", "x"), "module", stringAttr(stableModule("custom_call_v1")))
	}},
	{"StableHLO waits for a host program", "", func(s *smuggled) {
		attr(s.node("m", "XlaCallModule", "x"), "module", stringAttr(stableModule("infeed_v1")))
	}},
	{"StableHLO is text, with escapes in a name", "", func(s *smuggled) {
		attr(s.node("m", "XlaCallModule", "x"), "module", stringAttr(`module { "stablehlo.custom\5Fcall"() : () -> () }`))
	}},
	{"StableHLO is left to a caller", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, attr(bodyNode("m", "XlaCallModule", "a"), "module", leftAttr("T")))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "T", Type: "type"}}
	}},

	// Tables and assets.
	{"a table is read from a path in a function that nothing calls", "", func(s *smuggled) {
		s.function("f", []string{"t"}, constantNode("path", s.at("secret")), tableInit("i", "t", "path:output:0"))
	}},
	{"a table is read from the argument of a function that only a gradient names", "", func(s *smuggled) {
		s.function("f", []string{"t", "path"}, tableInit("i", "t", "path"))
		s.function("g", []string{"a"})
		s.graph().Library.Gradient = []*tfproto.GradientDef{{FunctionName: "g", GradientFunc: "f"}}
	}},
	{"a table is read from the argument of a function that only the attribute of another's argument names", "", func(s *smuggled) {
		s.function("f", []string{"t", "path"}, tableInit("i", "t", "path"))
		g := s.function("g", []string{"a"})
		g.ArgAttr = map[uint32]*tfproto.FunctionDef_ArgAttrs{0: {Attr: map[string]*tfproto.AttrValue{"later": funcAttr("f")}}}
	}},
	{"a table is read from the argument of a function that stands in for another of its interface", "", func(s *smuggled) {
		f := s.function("f", []string{"t", "path"}, tableInit("i", "t", "path"))
		f.Attr = map[string]*tfproto.AttrValue{"api_implements": stringAttr("one interface")}
	}},
	{"a table is read from the argument of a function that an uncalled one calls with a path", "", func(s *smuggled) {
		s.function("f", []string{"t", "path"}, tableInit("i", "t", "path"))
		s.function("g", []string{"t"}, constantNode("path", s.at("secret")), call1("c", "f", "t", "path:output:0"))
	}},
	{"a table is read from a path", "", func(s *smuggled) {
		s.constant("f", s.at("secret"))
		s.node("t", "InitializeTableFromTextFileV2", "x", "f")
	}},
	{"an asset is outside the folder", "", func(s *smuggled) { s.node("a", "Placeholder"); s.asset("a:0", "../../host/secret") }},
	{"an asset has an absolute path", "", func(s *smuggled) { s.node("a", "Placeholder"); s.asset("a:0", s.at("secret")) }},
	{"an asset of TensorFlow 1's collection is outside the folder", "", func(s *smuggled) {
		s.node("a", "Placeholder")
		s.assetCollection("a:0", "../../host/secret")
	}},
	{"an asset is a symbolic link out of the folder", "", func(s *smuggled) { s.node("a", "Placeholder"); s.asset("a:0", "w"); s.link("assets/w", "secret") }},
	{"the folder of assets is a symbolic link", "", func(s *smuggled) {
		s.node("a", "Placeholder")
		s.asset("a:0", "secret")
		s.link("assets", ".")
	}},
	{"an asset is a pipe", "", func(s *smuggled) {
		s.node("a", "Placeholder")
		s.asset("a:0", "p")
		s.file("assets/q", "")
		if err := syscall.Mkfifo(s.dir+"/assets/p", 0o600); err != nil {
			s.t.Fatal(err)
		}
	}},
	{"a signature runs the table of an asset whose tensor has a path of its own", "", func(s *smuggled) {
		s.constant("a", s.at("secret"))
		s.asset("a:0", "w")
		s.file("assets/w", "w\n")
		s.node("t", "InitializeTableFromTextFileV2", "x", "a")
		s.output("^t")
	}},
	{"a signature feeds the path of an asset", "", func(s *smuggled) {
		s.node("a", "Placeholder")
		s.asset("a:0", "w")
		s.file("assets/w", "w\n")
		s.node("t", "InitializeTableFromTextFileV2", "x", "a")
		s.signature().Inputs["a"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "a:0"}, Dtype: tfproto.DataType_DT_STRING}
	}},
	{"the variable with an asset's path is assigned in a function by its name", "", func(s *smuggled) {
		assetVariable(s)
		s.function("f", []string{"a"}, attr(bodyNode("v", "VarHandleOp"), "shared_name", stringAttr("v")), bodyNode("w", "AssignVariableOp", "v:resource:0", "a"))
	}},
	{"the variable with an asset's path is assigned in a function that leaves its name to a caller", "", func(s *smuggled) {
		assetVariable(s)
		f := s.function("f", []string{"a"}, attr(bodyNode("v", "VarHandleOp"), "shared_name", leftAttr("N")), bodyNode("w", "AssignVariableOp", "v:resource:0", "a"))
		f.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "N", Type: "type"}}
	}},
	{"the variable with an asset's path is handed to a function", "", func(s *smuggled) {
		assetVariable(s)
		s.function("f", []string{"a"})
		s.graph().Node = append(s.graph().Node, call1("c", "f", "v"))
	}},

	// The saver.
	{"a signature saves", "", func(s *smuggled) { s.saver("_temp/part"); s.output("^saving") }},
	{"the init operation saves", "", func(s *smuggled) { s.saver("_temp/part"); s.initOp("saving") }},
	{"the restore operation saves", "", func(s *smuggled) { s.saver("_temp/part"); s.meta().SaverDef.RestoreOpName = "saving" }},
	{"a signature feeds the saver's filename", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.signature().Inputs["f"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "filename:0"}, Dtype: tfproto.DataType_DT_STRING}
	}},
	{"a signature feeds the saver's filename as a part of a sparse tensor", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.signature().Inputs["f"] = &tfproto.TensorInfo{Dtype: tfproto.DataType_DT_STRING, Encoding: &tfproto.TensorInfo_CooSparse_{
			CooSparse: &tfproto.TensorInfo_CooSparse{ValuesTensorName: "filename:0", IndicesTensorName: "x:0", DenseShapeTensorName: "x:0"}}}
	}},
	{"a signature feeds the saver's filename as a part of a composite tensor inside another", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.signature().Inputs["f"] = composite(composite(&tfproto.TensorInfo{
			Encoding: &tfproto.TensorInfo_Name{Name: "filename:0"}, Dtype: tfproto.DataType_DT_STRING}))
	}},
	{"a signature saves for a part of a composite tensor", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.signature().Outputs["z"] = composite(composite(&tfproto.TensorInfo{
			Encoding: &tfproto.TensorInfo_Name{Name: "saving:0"}, Dtype: tfproto.DataType_DT_STRING}))
	}},
	{"the saver writes beside its filename", "", func(s *smuggled) { s.saver("/../../host/written") }},
	{"the saver's filename is a path", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.constant("path", s.at("written"))
		s.meta().SaverDef.FilenameTensorName = "path:0"
		s.graph().Node = append(s.graph().Node, call1("again", "save", "path"))
	}},
	{"another function calls the saver with a path", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.function("f", []string{"a"}, call1("c", "save", "a"))
	}},
	{"the restore operation reads a checkpoint of the host", "", func(s *smuggled) {
		s.saver("_temp/part")
		s.constant("path", s.at("secret"))
		s.node("r", "RestoreV2", "path", "path", "path")
		s.meta().SaverDef.RestoreOpName = "r"
	}},
	{"a saver left over from training has a path", "", func(s *smuggled) { s.constant("f", s.at("written")); s.node("r", "SaveV2", "f", "f", "f", "x") }},

	// Links and files.
	{"saved_model.pb is a symbolic link out of the folder", "", func(s *smuggled) { s.m = nil; s.link("saved_model.pb", "secret") }},
	{"a shard of the variables is a symbolic link out of the folder", "", func(s *smuggled) {
		s.copyOf("linear")
		s.link("variables/variables.data-00000-of-00001", "secret")
	}},
	{"the index of the variables is a symbolic link out of the folder", "", func(s *smuggled) { s.copyOf("linear"); s.link("variables/variables.index", "secret") }},
	{"the folder of the variables is a symbolic link", "", func(s *smuggled) { s.copyOf("linear"); s.link("variables", ".") }},
	{"a shard of the variables is a pipe", "", func(s *smuggled) {
		s.copyOf("linear")
		shard := s.dir + "/variables/variables.data-00000-of-00001"
		if err := os.Remove(shard); err != nil {
			s.t.Fatal(err)
		}
		if err := syscall.Mkfifo(shard, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}},

	// Bytes that two parsers read differently.
	{"a node in a field whose tag has more than 32 bits", "", func(s *smuggled) {
		graph, _ := proto.Marshal(s.graph())
		hidden, _ := proto.Marshal(bodyNode("w", "WriteFile", "x", "x"))
		s.rawGraph(append(protowire.AppendVarint(graph, 1<<32|1<<3|2), protowire.AppendBytes(nil, hidden)...))
	}},
	{"a node whose operation is written twice", "", func(s *smuggled) {
		graph, _ := proto.Marshal(s.graph())
		twice, _ := proto.Marshal(bodyNode("w", "NoOp"))
		s.rawGraph(rawField(graph, 1, rawField(twice, 2, []byte("WriteFile"))))
	}},
	{"two nodes of one name", "", func(s *smuggled) { s.node("y", "Identity", "x") }},
	{"a graph in two pieces", "", func(s *smuggled) {
		hidden, _ := proto.Marshal(&tfproto.GraphDef{Node: []*tfproto.NodeDef{bodyNode("w", "WriteFile", "x", "x")}})
		graph, _ := proto.Marshal(s.graph())
		s.rawGraph(graph)
		s.raw = bytes.Clone(s.raw)
		meta, _ := proto.Marshal(s.meta())
		s.raw = rawField(nil, 2, rawField(rawField(meta, 2, graph), 2, hidden))
	}},

	// Small variations of the tricks above that are sound.
	{"the model's own saver", "only a program that asks for it runs it", func(s *smuggled) { s.saver("_temp/part") }},
	{"a cache without a file", "the name is empty for all callers", func(s *smuggled) {
		s.constant("none", "")
		s.function("cache", []string{"n"}, cacheNodes("n")...)
		s.graph().Node = append(s.graph().Node, call1("a", "cache", "none"))
	}},
	{"StableHLO that computes", "none of its operations reaches outside", func(s *smuggled) {
		s.function("f", []string{"a"}, attr(bodyNode("m", "XlaCallModule", "a"), "module", stringAttr(stableModule("add_v1"))))
	}},
	{"a table is read from the argument of a function that nothing names", "nothing runs the function", func(s *smuggled) {
		s.function("f", []string{"t", "path"}, tableInit("i", "t", "path"))
		s.function("g", []string{"t", "path"}, call1("c", "f", "t", "path"))
	}},
	{"a table is read from an asset", "the path is that of the asset alone", func(s *smuggled) {
		assetVariable(s)
		for _, n := range s.graph().Node {
			if n.Name == "read" {
				n.Input = append(n.Input, "^assign")
			}
		}
		s.initOp("init")
	}},

	// Loaded and run.
	{"a tag in more bytes than it needs", "it is written again as every parser reads it", func(s *smuggled) {
		graph, _ := proto.Marshal(s.graph())
		harmless, _ := proto.Marshal(bodyNode("n", "NoOp"))
		s.rawGraph(append(append(graph, 0x8a, 0x80, 0x00), protowire.AppendBytes(nil, harmless)...))
	}},
	{"a node in a field that only a newer TensorFlow has", "it is left out of what TensorFlow loads", func(s *smuggled) {
		s.graph().Versions = &tfproto.VersionDef{Producer: 1 << 20}
		hidden, _ := proto.Marshal(bodyNode("w", "WriteFile", "x", "x"))
		graph, _ := proto.Marshal(s.graph())
		s.rawGraph(rawField(graph, 100, hidden))
	}},
	{"the only graph of the model has other tags than those asked for, and writes", "", func(s *smuggled) {
		s.meta().MetaInfoDef.Tags = []string{"train"}
		s.node("w", "WriteFile", "x", "x")
	}},
	{"the first of two graphs with the same tags writes", "", func(s *smuggled) {
		s.m.MetaGraphs = append(s.m.MetaGraphs, proto.CloneOf(s.meta()))
		s.node("w", "WriteFile", "x", "x")
	}},
	{"the second of two graphs with the same tags writes", "TensorFlow gets the first alone", func(s *smuggled) {
		other := proto.CloneOf(s.meta())
		other.GraphDef.Node = append(other.GraphDef.Node, bodyNode("w", "WriteFile", "x", "x"))
		s.m.MetaGraphs = append(s.m.MetaGraphs, other)
	}},
	{"a text protobuf beside the binary one writes", "only the binary one is read", func(s *smuggled) {
		other := proto.CloneOf(s.m)
		other.MetaGraphs[0].GraphDef.Node = append(other.MetaGraphs[0].GraphDef.Node, bodyNode("w", "WriteFile", "x", "x"))
		s.file("saved_model.pbtxt", prototext.Format(other))
	}},
	{"another graph of the model writes", "TensorFlow gets the graph of the tags asked for alone", func(s *smuggled) {
		other := proto.Clone(s.meta()).(*tfproto.MetaGraphDef)
		other.MetaInfoDef.Tags = []string{"train"}
		other.GraphDef.Node = append(other.GraphDef.Node, bodyNode("w", "WriteFile", "x", "x"))
		s.m.MetaGraphs = append(s.m.MetaGraphs, other)
	}},
	{"a collection holds a graph that writes", "TensorFlow gets no collections", func(s *smuggled) {
		hidden, _ := proto.Marshal(&tfproto.GraphDef{Node: []*tfproto.NodeDef{bodyNode("w", "WriteFile", "x", "x")}})
		s.meta().CollectionDef["more"] = &tfproto.CollectionDef{Kind: &tfproto.CollectionDef_BytesList_{BytesList: &tfproto.CollectionDef_BytesList{Value: [][]byte{hidden}}}}
	}},
	{"an asset outside the folder, in a collection that the list of assets overrides", "only what the list names is opened", func(s *smuggled) {
		s.node("a", "Placeholder")
		s.asset("a:0", "w")
		s.file("assets/w", "w\n")
		s.assetCollection("a:0", "../../host/secret")
	}},
	{"a symbolic link out of the folder where TensorFlow's own loader looks for a fingerprint's debug information", "nothing but the model's own files is opened", func(s *smuggled) {
		s.link("debug/saved_model_debug_info.pb", "secret")
	}},
	{"a pipe among the assets that no asset names", "only what the list names is opened", func(s *smuggled) {
		s.file("assets.extra/q", "")
		if err := syscall.Mkfifo(s.dir+"/assets.extra/p", 0o600); err != nil {
			s.t.Fatal(err)
		}
	}},
	{"a constant holds a path", "it is a string", func(s *smuggled) { s.constant("f", s.at("secret")); s.output("^f") }},
	{"a variable has the name of a path", "names are keys of a table in memory", func(s *smuggled) {
		attr(s.node("v", "VarHandleOp"), "shared_name", stringAttr("../../host/written"))
		s.output("^v")
	}},
	{"a saver left over from training", "nothing runs it", func(s *smuggled) {
		s.constant("model", "model")
		attr(s.node("s", "SaveV2", "model", "list", "whole", "x"), "dtypes", typesAttr(tfproto.DataType_DT_STRING))
		s.graph().Node = append(s.graph().Node, listNode("list", "v"), listNode("whole", ""))
	}},
	{"options of a call turn on what a session could", "a call's options are for the optimizer alone", func(s *smuggled) {
		s.function("f", []string{"a"})
		s.graph().Node = append(s.graph().Node, attr(call1("c", "f", "x"), "config_proto", stringAttr("\x10\x01\x18\x01")))
		s.output("^c")
	}},
	{"printing goes to the log", "the log is every program's", func(s *smuggled) {
		attr(s.node("p", "PrintV2", "x"), "output_stream", stringAttr("stderr"))
		s.output("^p")
	}},
	{"the path of an asset is what the signature returns", "it is a path in a private folder", func(s *smuggled) {
		assetVariable(s)
		s.initOp("assign")
		s.output("^read")
	}},
}

// composite describes a composite tensor of one component.
func composite(component *tfproto.TensorInfo) *tfproto.TensorInfo {
	return &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CompositeTensor_{CompositeTensor: &tfproto.TensorInfo_CompositeTensor{
		TypeSpec:   &tfproto.TypeSpecProto{TypeSpecClass: tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC},
		Components: []*tfproto.TensorInfo{component}}}}
}

// tableInit makes a node that fills a table from a file.
func tableInit(name, table, path string) *tfproto.NodeDef {
	n := bodyNode(name, "InitializeTableFromTextFileV2", table, path)
	for name, v := range map[string]int64{"key_index": -2, "value_index": -1} {
		attr(n, name, intAttr(v))
	}
	return n
}

// assetVariable keeps the path of an asset in a variable, as Python does, and
// reads a table from it.
func assetVariable(s *smuggled) {
	s.file("assets/w", "word\n")
	s.node("a", "Placeholder")
	s.asset("a:0", "w")
	attr(s.node("v", "VarHandleOp"), "shared_name", stringAttr("v"))
	s.node("assign", "AssignVariableOp", "v", "a")
	s.node("read", "ReadVariableOp", "v")
	attr(attr(s.node("table", "HashTableV2"), "key_dtype", typeAttr(tfproto.DataType_DT_STRING)), "value_dtype", typeAttr(tfproto.DataType_DT_INT64))
	init := s.node("init", "InitializeTableFromTextFileV2", "table", "read")
	for name, n := range map[string]int64{"key_index": -2, "value_index": -1} {
		attr(init, name, intAttr(n))
	}
}

// stableModule makes the beginning of a module in MLIR's bytecode whose strings
// hold the name of an operation.
func stableModule(op string) string {
	names := []string{"vhlo", "func_v1", op, "return_v1"}
	small := func(n int) byte { return byte(n<<1 | 1) }
	strs := []byte{small(len(names))}
	for i := range names {
		strs = append(strs, small(len(names[len(names)-1-i])+1))
	}
	strs = append(strs, strings.Join(names, "\x00")+"\x00"...)
	dialects := "\x01" + string(small(2)) + "ab"
	return "ML\xefR" + string(small(6)) + "StableHLO_v1.0.0\x00" + dialects + "\x00" + string(small(len(strs))) + string(strs)
}
