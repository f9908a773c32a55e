package graph_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"millrace/internal/base/tfproto"
)

// smuggled is a hostile model being built. The files that it must not touch lie in
// host: a file to read, a pipe to block on, and a place to write to.
type smuggled struct {
	t    *testing.T
	dir  string // folder of the model
	host string
	m    *tfproto.SavedModel
	raw  []byte // what saved_model.pb holds in the place of m
}

// newSmuggled begins a model whose signature takes x and gives y, two nodes of
// these names that hold strings.
func newSmuggled(t *testing.T, dir, host string) *smuggled {
	info := func(node string) map[string]*tfproto.TensorInfo {
		return map[string]*tfproto.TensorInfo{node: {Encoding: &tfproto.TensorInfo_Name{Name: node + ":0"},
			Dtype: tfproto.DataType_DT_STRING, TensorShape: &tfproto.TensorShapeProto{}}}
	}
	s := &smuggled{t: t, dir: dir, host: host}
	s.m = &tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{{
		MetaInfoDef:   &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef:      &tfproto.GraphDef{Library: &tfproto.FunctionDefLibrary{}, Versions: &tfproto.VersionDef{Producer: 2474}},
		SignatureDef:  map[string]*tfproto.SignatureDef{"serving_default": {Inputs: info("x"), Outputs: info("y")}},
		CollectionDef: map[string]*tfproto.CollectionDef{},
	}}}
	s.node("x", "Placeholder")
	s.node("y", "Identity", "x")
	return s
}

// graph, meta and signature are parts of the model.
func (s *smuggled) meta() *tfproto.MetaGraphDef { return s.m.MetaGraphs[0] }

func (s *smuggled) graph() *tfproto.GraphDef { return s.meta().GraphDef }

func (s *smuggled) signature() *tfproto.SignatureDef { return s.meta().SignatureDef["serving_default"] }

// node adds a node of strings.
func (s *smuggled) node(name, op string, inputs ...string) *tfproto.NodeDef {
	n := bodyNode(name, op, inputs...)
	s.graph().Node = append(s.graph().Node, n)
	return n
}

// output has y depend on another node.
func (s *smuggled) output(input string) {
	for _, n := range s.graph().Node {
		if n.Name == "y" {
			n.Input = append(n.Input, input)
		}
	}
}

// constant adds a constant of strings, a scalar if it is one.
func (s *smuggled) constant(name string, values ...string) *tfproto.NodeDef {
	n := constantNode(name, values...)
	s.graph().Node = append(s.graph().Node, n)
	return n
}

// at returns a path outside of the model.
func (s *smuggled) at(name string) string { return filepath.Join(s.host, name) }

// function adds a function of strings.
func (s *smuggled) function(name string, args []string, body ...*tfproto.NodeDef) *tfproto.FunctionDef {
	f := &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: name,
		OutputArg: []*tfproto.OpDef_ArgDef{{Name: "out", Type: tfproto.DataType_DT_STRING}}}, NodeDef: body, Ret: map[string]string{}}
	for _, a := range args {
		f.Signature.InputArg = append(f.Signature.InputArg, &tfproto.OpDef_ArgDef{Name: a, Type: tfproto.DataType_DT_STRING})
	}
	if len(args) > 0 {
		f.Ret["out"] = args[0]
	}
	s.graph().Library.Function = append(s.graph().Library.Function, f)
	return f
}

// writer adds a function that writes its argument to the host.
func (s *smuggled) writer(name string) *tfproto.FunctionDef {
	return s.function(name, []string{"a"}, constantNode("name", s.at("written")), bodyNode("write", "WriteFile", "name:output:0", "a"))
}

// call makes a node that calls a function.
func call1(name, callee string, inputs ...string) *tfproto.NodeDef {
	types := make([]tfproto.DataType, len(inputs))
	for i := range types {
		types[i] = tfproto.DataType_DT_STRING
	}
	n := bodyNode(name, "StatefulPartitionedCall", inputs...)
	n.Attr = map[string]*tfproto.AttrValue{"f": funcAttr(callee), "Tin": typesAttr(types...), "Tout": typesAttr(tfproto.DataType_DT_STRING)}
	return n
}

// saver adds a saver of no variables, as TensorFlow 2 makes it, whose save part
// writes to the filename with suffix.
func (s *smuggled) saver(suffix string) {
	s.node("filename", "Placeholder")
	s.function("save", []string{"prefix"},
		constantNode("part", suffix), attr(bodyNode("join", "StringJoin", "prefix", "part:output:0"), "N", intAttr(2)),
		numberNode("zero", 0), numberNode("one", 1), bodyNode("sharded", "ShardedFilename", "join:output:0", "zero:output:0", "one:output:0"),
		listNode("names", "v"), listNode("whole", ""), attr(bodyNode("save", "SaveV2", "sharded:filename:0", "names:output:0", "whole:output:0", "prefix"),
			"dtypes", typesAttr(tfproto.DataType_DT_STRING)),
		attr(attr(bodyNode("pack", "Pack", "sharded:filename:0", "^save"), "N", intAttr(1)), "T", typeAttr(tfproto.DataType_DT_STRING)),
		bodyNode("merge", "MergeV2Checkpoints", "pack:output:0", "prefix"))
	s.graph().Node = append(s.graph().Node, call1("saving", "save", "filename"))
	s.node("restoring", "NoOp")
	s.meta().SaverDef = &tfproto.SaverDef{FilenameTensorName: "filename:0", SaveTensorName: "saving:0", RestoreOpName: "restoring"}
}

// initOp has an operation run at load.
func (s *smuggled) initOp(name string) {
	s.meta().CollectionDef["saved_model_main_op"] = &tfproto.CollectionDef{
		Kind: &tfproto.CollectionDef_NodeList_{NodeList: &tfproto.CollectionDef_NodeList{Value: []string{name}}}}
}

// asset has a tensor be fed an asset's path at load.
func (s *smuggled) asset(tensor, file string) {
	s.meta().AssetFileDef = append(s.meta().AssetFileDef, &tfproto.AssetFileDef{
		TensorInfo: &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: tensor}}, Filename: file})
}

// assetCollection lists an asset where TensorFlow 1 does.
func (s *smuggled) assetCollection(tensor, file string) {
	def, err := anypb.New(&tfproto.AssetFileDef{
		TensorInfo: &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: tensor}}, Filename: file})
	if err != nil {
		s.t.Fatal(err)
	}
	s.meta().CollectionDef["saved_model_assets"] = &tfproto.CollectionDef{
		Kind: &tfproto.CollectionDef_AnyList_{AnyList: &tfproto.CollectionDef_AnyList{Value: []*anypb.Any{def}}}}
}

// file writes a file of the model.
func (s *smuggled) file(name, content string) {
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// link makes a symbolic link in the model's folder to something of the host.
func (s *smuggled) link(name, target string) {
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	os.RemoveAll(path)
	if err := os.Symlink(s.at(target), path); err != nil {
		s.t.Fatal(err)
	}
}

// copyOf puts the files of a test model in the place of the model.
func (s *smuggled) copyOf(name string) {
	if err := os.CopyFS(s.dir, os.DirFS(filepath.Join(models, name))); err != nil {
		s.t.Fatal(err)
	}
	s.m = nil
}

// bytes returns the model's protobuf.
func (s *smuggled) bytes() []byte {
	data, err := proto.Marshal(s.m)
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

// write writes the model to its folder.
func (s *smuggled) write() {
	if s.raw == nil && s.m != nil {
		s.raw = s.bytes()
	}
	if s.raw != nil {
		s.file("saved_model.pb", string(s.raw))
	}
}

// rawGraph wraps bytes of a GraphDef into the model in the place of its own.
func (s *smuggled) rawGraph(graph []byte) {
	s.meta().GraphDef = nil
	meta, err := proto.Marshal(s.meta())
	if err != nil {
		s.t.Fatal(err)
	}
	s.raw = protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	s.raw = rawField(s.raw, 2, rawField(meta, 2, graph))
}

// rawField appends a field that holds bytes.
func rawField(b []byte, num protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), content)
}

// bodyNode makes a node of strings.
func bodyNode(name, op string, inputs ...string) *tfproto.NodeDef {
	n := &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{}}
	switch op {
	case "Placeholder", "PlaceholderWithDefault", "Const", "VarHandleOp", "AssignVariableOp", "ReadVariableOp":
		n.Attr["dtype"] = typeAttr(tfproto.DataType_DT_STRING)
	case "Identity":
		n.Attr["T"] = typeAttr(tfproto.DataType_DT_STRING)
	}
	if op == "VarHandleOp" {
		n.Attr["shape"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: &tfproto.TensorShapeProto{}}}
	}
	return n
}

// constantNode makes a constant of strings, a scalar if it is one.
func constantNode(name string, values ...string) *tfproto.NodeDef {
	tensor := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, TensorShape: &tfproto.TensorShapeProto{}}
	for _, v := range values {
		tensor.StringVal = append(tensor.StringVal, []byte(v))
	}
	if len(values) != 1 {
		tensor.TensorShape.Dim = []*tfproto.TensorShapeProto_Dim{{Size: int64(len(values))}}
	}
	return attr(bodyNode(name, "Const"), "value", tensorAttr(tensor))
}

// listNode makes a constant list of one string.
func listNode(name, value string) *tfproto.NodeDef {
	n := constantNode(name, value)
	n.Attr["value"].GetTensor().TensorShape.Dim = []*tfproto.TensorShapeProto_Dim{{Size: 1}}
	return n
}

// numberNode makes a constant of an int32.
func numberNode(name string, v int32) *tfproto.NodeDef {
	n := attr(bodyNode(name, "Const"), "dtype", typeAttr(tfproto.DataType_DT_INT32))
	return attr(n, "value", tensorAttr(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT32,
		TensorShape: &tfproto.TensorShapeProto{}, IntVal: []int32{v}}))
}

// cacheNodes make a dataset of one element with a cache in a file.
func cacheNodes(file string) []*tfproto.NodeDef {
	shapes := &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Shape: []*tfproto.TensorShapeProto{{}}}}}
	data := attr(bodyNode("d", "TensorDataset", file), "Toutput_types", typesAttr(tfproto.DataType_DT_STRING))
	cache := attr(bodyNode("c", "CacheDataset", "d:handle:0", file), "output_types", typesAttr(tfproto.DataType_DT_STRING))
	return []*tfproto.NodeDef{attr(data, "output_shapes", shapes), attr(cache, "output_shapes", shapes)}
}

func intAttr(v int64) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: v}}
}

// attr sets an attribute of a node.
func attr(n *tfproto.NodeDef, name string, v *tfproto.AttrValue) *tfproto.NodeDef {
	n.Attr[name] = v
	return n
}

func stringAttr(s string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(s)}}
}

func typeAttr(t tfproto.DataType) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: t}}
}

func typesAttr(t ...tfproto.DataType) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: t}}}
}

func tensorAttr(t *tfproto.TensorProto) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: t}}
}

func leftAttr(name string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Placeholder{Placeholder: name}}
}

// funcAttr names a function, with functions bound to its attributes: name,
// function, name, function.
func funcAttr(name string, bound ...string) *tfproto.AttrValue {
	f := &tfproto.NameAttrList{Name: name}
	for i := 0; i < len(bound); i += 2 {
		if f.Attr == nil {
			f.Attr = map[string]*tfproto.AttrValue{}
		}
		f.Attr[bound[i]] = funcAttr(bound[i+1])
	}
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: f}}
}
