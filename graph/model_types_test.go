package graph_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// A signature that calls its Examples floats, as half_plus_three of TensorFlow Serving does, takes strings as its graph does.
func TestSignatureWithOtherTypes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	if err := os.CopyFS(dir, os.DirFS("../testdata/models/examples")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "saved_model.pb")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m tfproto.SavedModel
	if err := proto.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	sig := m.MetaGraphs[0].SignatureDef["regress"]
	sig.MethodName, sig.Inputs["inputs"].Dtype = "tensorflow/serving/regress", tfproto.DataType_DT_FLOAT
	if text, err = proto.Marshal(&m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "fingerprint.pb")); err != nil {
		t.Fatal(err)
	}
	model, err := graph.LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	got := model.Signatures()["regress"]
	if got.Inputs["inputs"].DType != tfbridge.String || !strings.Contains(fmt.Sprint(model.Saved().Warnings), `tensor "inputs": input: the signature says float32`) {
		t.Errorf("the input is %v, the warnings are %v", got.Inputs["inputs"].DType, model.Saved().Warnings)
	}
	x := example.Marshal([]example.Named{{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: []float32{1.5}}}})
	if results, err := call(t, model, "regress", map[string]any{"inputs": []string{string(x)}}); err != nil || !reflect.DeepEqual(results["outputs"], [][]float32{{3}}) {
		t.Errorf("the model answers %v, %v", results, err)
	}
}
