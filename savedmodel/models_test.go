package savedmodel

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
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

func remove(t testing.TB, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// graph makes a model of nodes and functions. Its signature serving_default takes x and
// returns y, the nodes of these names.
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

// readGraph reads a model made by graph.
func readGraph(t testing.TB, m *tfproto.SavedModel, o *Options) (*Model, error) {
	t.Helper()
	dir := t.TempDir()
	writeModel(t, dir, m)
	return Read(dir, o)
}

// VariableObjects finds Python's names of variables, and whether they are trainable, by
// the names in checkpoints.
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

// Short names for functions of package modeltest.
var (
	node       = modeltest.Node
	with       = modeltest.With
	text       = modeltest.Text
	fn         = modeltest.Func
	constant   = modeltest.Const
	functionOf = modeltest.Function
	called     = modeltest.Call
	constantOf = modeltest.ConstOf
	floats     = modeltest.Floats
	indexOf    = modeltest.Index
	marshal    = modeltest.Marshal
	flips      = modeltest.Flips
	readFile   = modeltest.ReadFile
	writeFile  = modeltest.WriteFile
	wantError  = modeltest.WantError
)
