package estimator_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"

	"google.golang.org/protobuf/proto"
)

// builtModel writes a SavedModel whose signature serving_default takes "x", a vector of
// floats, one for each row, and gives the result of body as "y". edit may change it
// before it is written.
func builtModel(t *testing.T, body func(s *graph.Scope, x tfbridge.Output) tfbridge.Output, edit func(*tfproto.MetaGraphDef)) string {
	t.Helper()
	s := graph.NewScope()
	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1))
	y := body(s, x)
	g, err := s.Finalize()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var def bytes.Buffer
	if _, err := g.WriteTo(&def); err != nil {
		t.Fatal(err)
	}
	meta := &tfproto.MetaGraphDef{
		MetaInfoDef:  &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef:     &tfproto.GraphDef{},
		SignatureDef: map[string]*tfproto.SignatureDef{"serving_default": {Inputs: info("x", x), Outputs: info("y", y)}},
	}
	if err := proto.Unmarshal(def.Bytes(), meta.GraphDef); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(meta)
	}
	model, err := proto.Marshal(&tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{meta}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "saved_model.pb"), model, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// info describes a tensor in a signature, its shape left open.
func info(name string, o tfbridge.Output) map[string]*tfproto.TensorInfo {
	return map[string]*tfproto.TensorInfo{name: {
		Encoding:    &tfproto.TensorInfo_Name{Name: o.Op.Name() + ":0"},
		Dtype:       tfproto.DataType(o.DataType()),
		TensorShape: &tfproto.TensorShapeProto{UnknownRank: true},
	}}
}
