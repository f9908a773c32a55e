package inspect

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
)

func testModel(name string) string { return filepath.Join("../../../testdata/models", name) }

func TestModel(t *testing.T) {
	r, err := Model(testModel("two_signatures"), nil)
	if err != nil {
		t.Fatal(err)
	}
	x := ModelTensor{Name: "x", DType: "float32", Shape: []int64{-1}}
	y, weight := x, ModelTensor{Name: "weight", DType: "float32", Shape: []int64{}}
	y.Name = "y"
	const predict = "tensorflow/serving/predict"
	want := []ModelSignature{
		{Key: "explain", Method: predict, Inputs: []ModelTensor{x}, Outputs: []ModelTensor{weight, y}},
		{Key: "serving_default", Method: predict, Inputs: []ModelTensor{x}, Outputs: []ModelTensor{y}},
	}
	for i := range r.Signatures {
		for _, tensors := range [][]ModelTensor{r.Signatures[i].Inputs, r.Signatures[i].Outputs} {
			for j := range tensors {
				if tensors[j].Node == "" {
					t.Errorf("%s has no node", tensors[j].Name)
				}
				tensors[j].Node = "" // numbered by TensorFlow
			}
		}
	}
	if diff := cmp.Diff(want, r.Signatures); diff != "" {
		t.Errorf("signatures (-want +got)\n%s", diff)
	}
	variables := []ModelVariable{{Name: "k/.ATTRIBUTES/VARIABLE_VALUE", DType: "float32", Shape: []int64{}, Bytes: 4}}
	if diff := cmp.Diff(variables, r.Variables); diff != "" || r.VariableBytes != 4 {
		t.Errorf("variables of %d bytes (-want +got)\n%s", r.VariableBytes, diff)
	}
	if r.TensorFlow != "2.21.0" || !cmp.Equal(r.Tags, []string{"serve"}) || !r.Fingerprinted || r.Bytes == 0 || len(r.SHA256) != 64 {
		t.Errorf("%+v", r)
	}
	counts := map[string]int{}
	for i, o := range r.Operations {
		counts[o.Op] = o.Nodes
		if i > 0 && o.Nodes > r.Operations[i-1].Nodes {
			t.Errorf("%s comes after %s", o.Op, r.Operations[i-1].Op)
		}
	}
	if counts["Mul"] != 2 || counts["VarHandleOp"] != 1 || r.Functions == 0 {
		t.Errorf("%d functions, operations %v", r.Functions, counts)
	}
	for op := range counts {
		if strings.HasPrefix(op, "__inference") {
			t.Errorf("%s is counted as an operation", op)
		}
	}
	if len(r.Warnings)+len(r.Refused) > 0 {
		t.Errorf("warnings %q, refused %q", r.Warnings, r.Refused)
	}
}

func TestModelText(t *testing.T) {
	tests := []struct {
		model string
		want  []string
	}{
		{"outputs", []string{"SavedModel of TensorFlow 2.21.0, tags {serve}", "signature serving_default, method tensorflow/serving/predict",
			"image   float32[?, 8, 8]", "the policy accepts the model", "no variables"}},
		{"vocab", []string{"assets/words.txt 22 B"}},
		{"writes_file_at_load", []string{"THE POLICY REFUSES THE MODEL", `operation "WriteFile"`, "which the init operation runs at load"}},
		{"sharded", []string{"4 variables", "a/.ATTRIBUTES/VARIABLE_VALUE  float32[64]"}},
	}
	for _, tt := range tests {
		r, err := Model(testModel(tt.model), nil)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := r.WriteText(&b, false); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s does not say %q:\n%s", tt.model, want, &b)
			}
		}
	}
	refused, err := Model(testModel("writes_file"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(refused)
	if err != nil || !strings.Contains(string(b), `"refused":["`) || !strings.Contains(string(b), `ReadFile`) {
		t.Errorf("%s, %v", b, err)
	}
}

// A model that cannot be described is an error.
func TestModelError(t *testing.T) {
	for dir, want := range map[string]string{testModel("recursive"): "calls itself", t.TempDir(): "no saved_model.pb"} {
		if _, err := Model(dir, nil); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
	if _, err := Model(testModel("linear"), &ModelOptions{Tags: []string{"gpu"}}); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("other tags: %v", err)
	}
}
