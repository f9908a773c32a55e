package savedmodel

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// exhaustive tries every byte and bit where a normal run takes samples.
var exhaustive = flag.Bool("exhaustive", false, "try every byte and bit")

const models = "../testdata/models"

// copyModel returns a copy of a test model that may be damaged.
func copyModel(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(models, name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// readerIn returns a reader of the model in dir.
func readerIn(t testing.TB, dir string) *reader {
	t.Helper()
	r := newReader(dir, nil)
	var err error
	if r.folder, err = openFolder(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.folder.close)
	return r
}

// bare returns a copy of a test model without its fingerprint.
func bare(t testing.TB, name string) string {
	t.Helper()
	dir := copyModel(t, name)
	if err := os.Remove(filepath.Join(dir, fingerprintName)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return dir
}

// edited returns a copy of a test model whose protobuf was changed, without
// its fingerprint.
func edited(t testing.TB, name string, change func(*tfproto.SavedModel)) string {
	t.Helper()
	dir := bare(t, name)
	var m tfproto.SavedModel
	if err := proto.Unmarshal(readFile(t, filepath.Join(dir, binaryName)), &m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	writeModel(t, dir, &m)
	return dir
}

// writeModel writes a protobuf as the model in dir.
func writeModel(t testing.TB, dir string, m *tfproto.SavedModel) {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, binaryName), data)
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// wantError checks that an error is of a class, or of any if it is "", and says
// something.
func wantError(t testing.TB, err error, class millrace.Class, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one of class %q", class)
	}
	var e *millrace.Error
	if !errors.As(err, &e) || class != "" && !errors.Is(err, class) {
		t.Errorf("error %v\n is not of class %q", err, class)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q\ndoes not say %q", err, part)
		}
	}
}

// graph makes a model of nodes and functions. Its signature serving_default
// takes x and gives y, which are the nodes of these names.
func graph(nodes []*tfproto.NodeDef, functions ...*tfproto.FunctionDef) *tfproto.SavedModel {
	info := func(node string) map[string]*tfproto.TensorInfo {
		return map[string]*tfproto.TensorInfo{node: {
			Encoding:    &tfproto.TensorInfo_Name{Name: node + ":0"},
			Dtype:       tfproto.DataType_DT_STRING,
			TensorShape: &tfproto.TensorShapeProto{},
		}}
	}
	return &tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{{
		MetaInfoDef: &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef: &tfproto.GraphDef{
			Node:     append([]*tfproto.NodeDef{node("x", "Placeholder")}, nodes...),
			Library:  &tfproto.FunctionDefLibrary{Function: functions},
			Versions: &tfproto.VersionDef{Producer: newestProducer},
		},
		SignatureDef: map[string]*tfproto.SignatureDef{"serving_default": {Inputs: info("x"), Outputs: info("y")}},
	}}}
}

// node makes a NodeDef with string as its type.
func node(name, op string, inputs ...string) *tfproto.NodeDef {
	return &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{
		"dtype": {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_STRING}},
		"T":     {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_STRING}},
	}}
}

// with adds an attribute to a node.
func with(n *tfproto.NodeDef, name string, v *tfproto.AttrValue) *tfproto.NodeDef {
	n.Attr[name] = v
	return n
}

// text and fn make attributes.
func text(s string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(s)}}
}

func fn(name string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: name}}}
}

// constant makes a Const of strings.
func constant(name string, values ...string) *tfproto.NodeDef {
	tensor := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING}
	for _, v := range values {
		tensor.StringVal = append(tensor.StringVal, []byte(v))
	}
	return with(node(name, "Const"), "value", &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: tensor}})
}

// function makes a function of strings: args in, out out.
func functionOf(name string, args []string, body ...*tfproto.NodeDef) *tfproto.FunctionDef {
	sig := &tfproto.OpDef{Name: name, OutputArg: []*tfproto.OpDef_ArgDef{{Name: "out", Type: tfproto.DataType_DT_STRING}}}
	for _, a := range args {
		sig.InputArg = append(sig.InputArg, &tfproto.OpDef_ArgDef{Name: a, Type: tfproto.DataType_DT_STRING})
	}
	return &tfproto.FunctionDef{Signature: sig, NodeDef: body}
}

// called makes a node that calls a function.
func called(name, callee string, inputs ...string) *tfproto.NodeDef {
	return with(with(node(name, "PartitionedCall", inputs...), "f", fn(callee)), "Tout", &tfproto.AttrValue{
		Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: []tfproto.DataType{tfproto.DataType_DT_STRING}}}})
}

// readGraph reads a model made by graph.
func readGraph(t testing.TB, m *tfproto.SavedModel, o *Options) (*Model, error) {
	t.Helper()
	dir := t.TempDir()
	writeModel(t, dir, m)
	return Read(dir, o)
}

// Python's names of variables, and whether they are to be trained, are found by the
// names that checkpoints use.
func TestVariableObjects(t *testing.T) {
	m, err := Read("../testdata/models/linear", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]VariableObject{
		"w/.ATTRIBUTES/VARIABLE_VALUE": {Name: "w", Trainable: true},
		"b/.ATTRIBUTES/VARIABLE_VALUE": {Name: "b", Trainable: true},
	}
	if got := m.VariableObjects(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
