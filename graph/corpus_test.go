package graph_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/cases"
	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

// The corpus holds SavedModels that the releases of TensorFlow wrote, each with
// what its signatures gave there. testdata/savedmodels says how it was made.

// recorded is a tensor of the corpus.
type recorded struct {
	DType  string
	Shape  []int64
	Values []any
}

// recordedCall is a call of a signature. Fails is set if TensorFlow could not make the
// call because a variable has no value.
type recordedCall struct {
	Tags            []string
	Signature       string
	Inputs, Outputs map[string]recorded
	Fails           bool

	tolerance float64 // relative tolerance of floats
}

// unpackCorpus writes the models to a folder and returns their names.
func unpackCorpus(t *testing.T, dir string) (names []string) {
	t.Helper()
	return unpackModels(t, dir, "../testdata/savedmodels/models.tar.gz", "*/*/values.json")
}

// unpackModels writes the models of an archive to a folder and returns the
// names of those with a file that matches values.
func unpackModels(t *testing.T, dir, archive, values string) (names []string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files, err := cases.Unpack(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	names, err = fs.Glob(files, values)
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = path.Dir(names[i])
	}
	return names
}

// startPools starts the threads that all sessions of the process share, so that a test
// which counts threads does not find them in its first model.
func startPools(t *testing.T) {
	t.Helper()
	g := tfbridge.NewGraph()
	defer g.Close()
	s, err := tfbridge.NewSession(g, &tfbridge.SessionOptions{LoopPool: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCorpus(t *testing.T) {
	startPools(t)
	dir := t.TempDir()
	names := unpackCorpus(t, dir)
	if len(names) < 40 {
		t.Errorf("the corpus has %d models", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			var calls []recordedCall
			text, err := os.ReadFile(filepath.Join(dir, name, "values.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &calls); err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				c.tolerance = 1e-6 // releases may round the last bit differently
				c.check(t, filepath.Join(dir, name))
			}
		})
	}
}

// TensorFlow 2 takes the components of composite inputs apart. Which belong
// together is in the object graph.
func TestCompositeInputs(t *testing.T) {
	dir := t.TempDir()
	unpackCorpus(t, dir)
	m, err := graph.ReadModel(filepath.Join(dir, "2.21.0", "ragged"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, in := range m.Signatures[graph.DefaultSignature].Inputs {
		got[in.Name] = string(in.Encoding) + " " + in.Whole + " " + in.Component
	}
	want := map[string]string{"s": "sparse s indices", "s_1": "sparse s values", "s_2": "sparse s dense_shape", "x": "ragged x flat_values", "x_1": "ragged x row_splits"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// check loads the model and makes the call.
func (c *recordedCall) check(t *testing.T, dir string) {
	t.Helper()
	m, err := graph.LoadModel(dir, &graph.ModelOptions{Tags: c.Tags})
	if c.Fails {
		if err == nil {
			m.Close()
		}
		if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "model.export") {
			t.Errorf("a model that TensorFlow cannot run: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if w := m.Saved().Warnings; len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
	inputs := map[string]any{}
	for name, r := range c.Inputs {
		x := r.tensor(t)
		defer x.Close()
		inputs[name] = x
	}
	outputs, err := m.Call(t.Context(), c.Signature, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range outputs {
		want, ok := c.Outputs[name]
		if !ok {
			t.Errorf("signature %s: TensorFlow gave no %s", c.Signature, name)
		} else if !want.same(t, got, c.tolerance) {
			t.Errorf("signature %s: %s is %v, want %v", c.Signature, name, got.Value(), want)
		}
		got.Close()
	}
	if len(outputs) != len(c.Outputs) {
		t.Errorf("signature %s: %d outputs, want %d", c.Signature, len(outputs), len(c.Outputs))
	}
}

// tensor makes the tensor that was recorded.
func (r recorded) tensor(t *testing.T) *tfbridge.Tensor {
	t.Helper()
	var flat any
	switch r.DType {
	case "float32":
		flat = elements[float32](t, r.Values)
	case "int32":
		flat = elements[int32](t, r.Values)
	case "int64":
		flat = elements[int64](t, r.Values)
	case "bool":
		flat = elements[bool](t, r.Values)
	case "string":
		flat = elements[string](t, r.Values)
	case "bytes": // strings in base64
		list := []string{}
		for _, v := range elements[[]byte](t, r.Values) {
			list = append(list, string(v))
		}
		flat = list
	case "uint8":
		list := []uint8{}
		for _, v := range elements[uint](t, r.Values) { // a []uint8 is a string to encoding/json
			list = append(list, uint8(v))
		}
		flat = list
	default:
		t.Fatalf("a tensor of %s", r.DType)
	}
	x, err := tfbridge.NewTensor(flat)
	if err == nil {
		err = x.Reshape(r.Shape)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// elements converts values of JSON.
func elements[T any](t *testing.T, values []any) []T {
	t.Helper()
	text, err := json.Marshal(values)
	list := []T{}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// same reports whether a tensor is the recorded one, up to a relative tolerance
// of floats.
func (r recorded) same(t *testing.T, got *tfbridge.Tensor, tolerance float64) bool {
	t.Helper()
	want := r.tensor(t)
	defer want.Close()
	if got.DataType() != want.DataType() || !tfbridge.MakeShape(got.Shape()...).Equal(tfbridge.MakeShape(r.Shape...)) {
		return false
	}
	if got.DataType() == tfbridge.String {
		a, err := got.Strings()
		b, other := want.Strings()
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		return strings.Join(a, "\x00") == strings.Join(b, "\x00")
	}
	if got.DataType() != tfbridge.Float {
		a, err := got.Bytes()
		b, other := want.Bytes()
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		return string(a) == string(b)
	}
	a, err := tfbridge.View[float32](got)
	b, other := tfbridge.View[float32](want)
	if err != nil || other != nil {
		t.Fatal(err, other)
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > tolerance*math.Abs(float64(b[i])) {
			return false
		}
	}
	return true
}
