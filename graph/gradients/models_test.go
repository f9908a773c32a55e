package gradients_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// unpackModels unpacks what testdata/record.py wrote: a folder for each model.
func unpackModels(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/models.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for tr := tar.NewReader(zip); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		data, err := io.ReadAll(tr)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// recordedTensor is a tensor in gradients.json.
type recordedTensor struct {
	Shape  []int64
	DType  string
	Values []float64
}

// tensor returns the tensor. The caller closes it.
func (r *recordedTensor) tensor(t *testing.T) *tfbridge.Tensor {
	t.Helper()
	var made *tfbridge.Tensor
	var err error
	if r.DType == "int32" {
		made, err = tfbridge.NewTensorFromSlice(r.Shape, convert[int32](r.Values))
	} else {
		made, err = tfbridge.NewTensorFromSlice(r.Shape, convert[float32](r.Values))
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func convert[T int32 | float32](values []float64) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = T(v)
	}
	return out
}

// recordedModel is the content of gradients.json.
type recordedModel struct {
	Inputs, Coefficients map[string]*recordedTensor
	Gradients            map[string]*recordedTensor // nil: the loss does not depend on the variable
	Loss                 float64
}

// pythonName returns the name of a variable in Python. A SavedModel's graph has
// another number at the end if Keras made two variables of one name.
func (m *recordedModel) pythonName(name string) string {
	if _, ok := m.Gradients[name]; ok {
		return name
	}
	return strings.TrimSuffix(name, "_1")
}

func readRecorded(t *testing.T, dir string) *recordedModel {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "gradients.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := &recordedModel{}
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// modelNames are the models of testdata/record.py.
var modelNames = []string{"mlp", "cnn", "upscale", "conv1d", "lstm", "gru", "attention", "control", "operations"}

// The derivatives of a saved model are as Python's GradientTape gives them.
func TestModels(t *testing.T) {
	dir := unpackModels(t)
	for _, name := range modelNames {
		t.Run(name, func(t *testing.T) {
			compareModel(t, filepath.Join(dir, name), (*graph.Scope).Const)
		})
	}
	for _, name := range []string{"lstm", "gru", "control"} {
		t.Run(name+" of any batch", func(t *testing.T) {
			compareModel(t, filepath.Join(dir, name), ofAnyBatch)
		})
	}
}

// ofAnyBatch returns a tensor whose first dimension the graph does not show.
func ofAnyBatch(s *graph.Scope, value any) tfbridge.Output {
	v := s.Const(value)
	dims := v.Shape().Dims()
	if len(dims) > 0 {
		dims[0] = -1
	}
	return s.Op1("PlaceholderWithDefault", map[string]any{"shape": tfbridge.MakeShape(dims...)}, v)
}

// The recording of a loop pushes few lists in an iteration: a value that the derivative can
// have in a cheaper way has none. Where the batch has a known size, the derivative finds out
// no shapes; else all shapes share one more list.
func TestRecordedLists(t *testing.T) {
	dir := unpackModels(t)
	for _, tt := range []struct {
		name       string
		feed       func(*graph.Scope, any) tfbridge.Output
		most       int
		broadcasts bool
	}{{"lstm", (*graph.Scope).Const, 11, false}, {"gru", (*graph.Scope).Const, 9, false}, {"lstm", ofAnyBatch, 12, true}, {"gru", ofAnyBatch, 10, true}} {
		m := compareModel(t, filepath.Join(dir, tt.name), tt.feed)
		functions, err := m.Graph().Functions()
		if err != nil {
			t.Fatal(err)
		}
		bodies := 0
		for _, f := range functions {
			data, err := f.Def()
			def := &tfproto.FunctionDef{}
			if err := errors.Join(err, proto.Unmarshal(data, def)); err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			for _, n := range def.GetNodeDef() {
				count[n.GetOp()]++
			}
			pushed := count["TensorListPushBack"]
			if pushed > 0 {
				bodies++
			}
			if pushed > tt.most || count["BroadcastGradientArgs"] > 0 && !tt.broadcasts {
				t.Errorf("%s: function %s pushes %d lists, want at most %d; %d times it finds out which dimensions to sum",
					tt.name, f.Name(), pushed, tt.most, count["BroadcastGradientArgs"])
			}
			f.Close()
		}
		if bodies == 0 {
			t.Errorf("%s has no loop that pushes lists", tt.name)
		}
	}
}

// compareModel returns the model with its derivatives. The test closes it.
func compareModel(t *testing.T, dir string, feed func(*graph.Scope, any) tfbridge.Output) *graph.Model {
	t.Helper()
	want := readRecorded(t, dir)
	m, err := graph.LoadModel(filepath.Join(dir, "model"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s := graph.NewScopeWithGraph(m.Graph()).SubScope("train")
	opened, loss := openModel(t, s, m, want, feed)
	var trainable []gradients.Variable
	for _, v := range opened.Variables {
		if v.Trainable() {
			trainable = append(trainable, v)
		}
	}
	fetch := []tfbridge.Output{loss}
	var names []string
	for i, d := range opened.Gradients(fetch[:1], trainable, nil) {
		if d.Value.Op != nil {
			names, fetch = append(names, want.pythonName(trainable[i].Name)), append(fetch, d.Dense(s, trainable[i]))
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	out, err := m.Exec(t.Context(), fetch, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, o := range out {
			o.Close()
		}
	}()
	if got := floats(t, out[0])[0]; math.Abs(float64(got)-want.Loss) > 1e-5*math.Max(1, math.Abs(want.Loss)) {
		t.Errorf("the loss is %v, Python has %v", got, want.Loss)
	}
	largest := 0.0 // largest value of all derivatives, the scale for derivatives that are zero up to rounding
	for _, d := range want.Gradients {
		if d != nil {
			largest = max(largest, magnitude(d.Values))
		}
	}
	found := map[string]bool{}
	for i, name := range names {
		found[name] = true
		if want.Gradients[name] == nil {
			t.Errorf("%s has a derivative, in Python it has none", name)
			continue
		}
		compare(t, name, floats(t, out[i+1]), want.Gradients[name].Values, 1e-4*largest)
	}
	for name, d := range want.Gradients {
		if d != nil && !found[name] {
			t.Errorf("%s has no derivative", name)
		}
	}
	return m
}

// openModel opens the signature on the recorded batch and returns the recorded loss.
func openModel(t *testing.T, s *graph.Scope, m *graph.Model, want *recordedModel, feed func(*graph.Scope, any) tfbridge.Output) (*gradients.Opened, tfbridge.Output) {
	t.Helper()
	sig := m.Signatures()[graph.DefaultSignature]
	o := &gradients.OpenOptions{Feeds: map[string]tfbridge.Output{}}
	for name, in := range sig.Inputs {
		v := want.Inputs[name].tensor(t)
		o.Feeds[in.Name] = feed(s, v)
		v.Close()
	}
	keys := slices.Sorted(maps.Keys(sig.Outputs))
	for _, name := range keys {
		o.Outputs = append(o.Outputs, sig.Outputs[name].Name)
	}
	opened := gradients.Open(s, o)
	if opened == nil {
		t.Fatal(s.Err())
	}
	var terms tfbridge.OutputList
	for i, name := range keys {
		v := want.Coefficients[name].tensor(t)
		terms = append(terms, graph.ReduceSum(s, graph.Mul(s, opened.Outputs[i], s.Const(v))))
		v.Close()
	}
	return opened, s.Op1("AddN", nil, terms)
}

func floats(t *testing.T, x *tfbridge.Tensor) []float32 {
	t.Helper()
	v, err := tfbridge.View[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// magnitude returns the largest absolute value.
func magnitude(values []float64) float64 {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	return largest
}

// compare compares a derivative with Python's, relative to its largest element or to
// least, if that is more.
func compare(t *testing.T, name string, got []float32, want []float64, least float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, Python has %d", name, len(got), len(want))
		return
	}
	scale := max(magnitude(want), least)
	worst, at := 0.0, 0
	for i := range got {
		if d := math.Abs(float64(got[i]) - want[i]); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= 1e-5*scale) {
		t.Errorf("%s[%d] is %v, Python has %v; the largest is %v", name, at, got[at], want[at], scale)
	}
}
