package estimator_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// modelDir returns a model that was made by TensorFlow.
func modelDir(name string) string { return filepath.Join("..", "testdata", "models", name) }

func modelOptions(signature string) *estimator.ModelOptions {
	if signature == "" {
		return nil
	}
	return &estimator.ModelOptions{Signatures: []string{signature}}
}

func load(t *testing.T, name, signature string) *estimator.Model {
	t.Helper()
	m, err := estimator.LoadModel(modelDir(name), modelOptions(signature))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// feature is one feature of a test's records: its manifest entry without the name, and
// its value in record i.
type feature struct {
	dtype string
	shape []int
	kind  string
	value func(i int) example.Feature
}

// plan writes n records and checks a config that reads the features, and more
// if rename says so, against a model.
func plan(t *testing.T, m *estimator.Model, n int, features map[string]feature, keep ...string) *loaders.Plan {
	t.Helper()
	d := fixture.New(t)
	var manifest, primaries []fixture.Object
	records := make([][]byte, n)
	named := make([][]example.Named, n)
	for name, f := range features {
		manifest = append(manifest, fixture.Object{"name": name, "dtype": f.dtype, "shape": f.shape, "deserialize_type": f.kind})
		primaries = append(primaries, fixture.Object{"from_name": name, "to_name": name})
		for i := range named {
			named[i] = append(named[i], example.Named{Name: name, Feature: f.value(i)})
		}
	}
	for i := range records {
		records[i] = example.Marshal(named[i])
	}
	d.Manifest["features"], d.Args["primary_features"] = manifest, primaries
	d.WriteRecords(t, "a.tfrecords", records...)
	d.Save(t)
	p, problems := loaders.Check(d.Config(), &loaders.CheckOptions{Model: namesOf(t, m), Keep: keep})
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

func namesOf(t *testing.T, m *estimator.Model) *loaders.ModelNames {
	t.Helper()
	names, err := m.Names("")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// predict collects a tensor of every row.
func predict[T any](t *testing.T, m *estimator.Model, p *loaders.Plan, name string, keep ...string) []T {
	t.Helper()
	var all []T
	for b, err := range m.Predict(t.Context(), &loaders.Source{Plan: p}, &estimator.PredictOptions{Keep: keep}) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Tensor(name).DataType() == tfbridge.String {
			s, err := b.Tensor(name).Strings()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, any(s).([]T)...)
			continue
		}
		v, err := tfbridge.View[T](b.Tensor(name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v...)
	}
	return all
}

func floatAt(f func(i int) []float32) func(int) example.Feature {
	return func(i int) example.Feature { return fixture.Floats(f(i)...) }
}

func scalars(i int) []float32 { return []float32{float32(i)} }

func text(s ...string) func(int) example.Feature {
	return func(i int) example.Feature {
		return example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(s[i%len(s)])}}
	}
}

func want(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Every kind of graph for a signature can be joined to the pipeline and gives the right
// result: with and without functions, variables of both kinds, tables, strings, and
// loops of both kinds.
func TestPredict(t *testing.T) {
	x := map[string]feature{"x": {"float32", []int{}, "float", floatAt(scalars)}}
	t.Run("linear", func(t *testing.T) {
		m := load(t, "linear", "")
		p := plan(t, m, 3, map[string]feature{"x": {"float32", []int{3}, "float", floatAt(func(i int) []float32 {
			return []float32{float32(i), 1, 2}
		})}})
		want(t, []float32{3, 8, 4, 7, 5, 6}, predict[float32](t, m, p, "y"))
	})
	t.Run("constant", func(t *testing.T) {
		m := load(t, "constant", "")
		want(t, []float32{1, 3, 5, 7, 9}, predict[float32](t, m, plan(t, m, 5, x), "y"))
	})
	t.Run("one of two signatures", func(t *testing.T) {
		m := load(t, "two_signatures", "serving_default")
		want(t, []float32{0, 3, 6}, predict[float32](t, m, plan(t, m, 3, x), "y"))
	})
	t.Run("an output without the batch", func(t *testing.T) {
		m := load(t, "two_signatures", "explain")
		want(t, []float32{3, 3}, predict[float32](t, m, plan(t, m, 3, x), "weight"))
	})
	t.Run("strings", func(t *testing.T) {
		m := load(t, "strings", "")
		p := plan(t, m, 3, map[string]feature{"text": {"string", []int{}, "string", text("mill", "", "race")}})
		want(t, []string{"MILL", "", "RACE"}, predict[string](t, m, p, "upper"))
		want(t, []int32{4, 0, 4}, predict[int32](t, m, p, "length"))
	})
	t.Run("table", func(t *testing.T) {
		m := load(t, "vocab", "")
		p := plan(t, m, 4, map[string]feature{"word": {"string", []int{}, "string", text("wheel", "mill", "?", "race")}})
		want(t, []int64{3, 0, -1, 1}, predict[int64](t, m, p, "id"))
	})
	t.Run("functional loop", func(t *testing.T) {
		m := load(t, "loop", "")
		p := plan(t, m, 3, map[string]feature{"n": {"int64", []int{}, "int", func(i int) example.Feature { return fixture.Ints(int64(i)) }}})
		want(t, []int64{0, 5, 10}, predict[int64](t, m, p, "sum"))
	})
	t.Run("TensorFlow 1 graph", func(t *testing.T) {
		m := load(t, "graph_v1", "")
		want(t, []float32{8, 12, 16}, predict[float32](t, m, plan(t, m, 3, x), "y"))
	})
	t.Run("kept beside the outputs", func(t *testing.T) {
		m := load(t, "constant", "")
		p := plan(t, m, 3, map[string]feature{"x": x["x"], "id": {"int64", []int{}, "int", func(i int) example.Feature { return fixture.Ints(int64(i)) }}}, "id")
		want(t, []int64{0, 1, 2}, predict[int64](t, m, p, "id", "id"))
	})
}

// One model serves several plans, one after the other, each from the start.
func TestPredictAgain(t *testing.T) {
	m := load(t, "linear", "")
	x := map[string]feature{"x": {"float32", []int{3}, "float", floatAt(func(i int) []float32 { return []float32{float32(i), 0, 0} })}}
	p, q := plan(t, m, 2, x), plan(t, m, 3, x)
	for range 2 {
		want(t, []float32{0.5, -0.5, 1.5, -1.5}, predict[float32](t, m, p, "y"))
		want(t, []float32{0.5, -0.5, 1.5, -1.5, 2.5, -2.5}, predict[float32](t, m, q, "y"))
	}
}

func TestModelFaults(t *testing.T) {
	tests := []struct {
		name, model, signature string
		class                  millrace.Class
		words                  []string
	}{
		{"E01 no directory", "nowhere", "", millrace.ErrModel, []string{"nowhere"}},
		{"E09 no signature", "two_signatures", "predict", millrace.ErrModel, []string{"predict", "explain", "serving_default"}},
		{"E19 writes a file", "writes_file", "", millrace.ErrUnsafeModel, []string{"ReadFile", "serving_default"}},
		{"E19 calls Python", "python_function", "", millrace.ErrUnsafeModel, []string{"PyFunc"}},
		{"E20 writes a file when loaded", "writes_file_at_load", "", millrace.ErrUnsafeModel, []string{"WriteFile"}},
		{"E07 calls itself", "recursive", "", millrace.ErrModel, []string{"outer"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := estimator.LoadModel(modelDir(test.model), modelOptions(test.signature))
			if err == nil {
				m.Close()
			}
			if !errors.Is(err, test.class) {
				t.Fatalf("got %v, want class %q", err, test.class)
			}
			for _, w := range test.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// copyModel copies a model, so that a test can damage it.
func copyModel(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(modelDir(name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// flip inverts one bit in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A damaged model that TensorFlow loads silently, or reports as something else, is
// refused when it is loaded (R6).
func TestDamagedModels(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
		class  millrace.Class
		word   string
	}{
		{"E05 flipped bit", func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "saved_model.pb")) }, millrace.ErrModel, "saved_model.pb"},
		{"E11 no variables", func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "variables")) }, millrace.ErrModel, "variables"},
		{"E12 no index", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "variables", "variables.index")) }, millrace.ErrModel, "variables.index"},
		{"E14 flipped value", func(t *testing.T, dir string) {
			flip(t, filepath.Join(dir, "variables", "variables.data-00000-of-00001"))
		}, millrace.ErrCorrupt, "variables.data-00000-of-00001"},
		{"E13 cut values", func(t *testing.T, dir string) {
			os.Truncate(filepath.Join(dir, "variables", "variables.data-00000-of-00001"), 5)
		}, millrace.ErrTruncated, "variables.data-00000-of-00001"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			dir := copyModel(t, "linear")
			test.damage(t, dir)
			m, err := estimator.LoadModel(dir, nil)
			if err == nil {
				m.Close()
			}
			if !errors.Is(err, test.class) || !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), test.word) {
				t.Fatalf("got %v, want class %q naming %s", err, test.class, test.word)
			}
		})
	}
}

// A model with a harmless signature is refused for its unsafe operations, because they
// are in the graph that TensorFlow would load.
func TestHarmlessSignatureOfAnUnsafeModel(t *testing.T) {
	_, err := estimator.LoadModel(filepath.Join("..", "testdata", "models", "writes_file"), &estimator.ModelOptions{Signatures: []string{"harmless"}})
	if !errors.Is(err, millrace.ErrUnsafeModel) {
		t.Errorf("got %v, want class %q", err, millrace.ErrUnsafeModel)
	}
}

// A bad record is reported as a fault of the data, however it is found.
func TestPredictNamesTheRecord(t *testing.T) {
	m := load(t, "constant", "")
	p := plan(t, m, 5, map[string]feature{"x": {"float32", []int{}, "float", func(i int) example.Feature {
		if i == 3 {
			return fixture.Floats(1, 2)
		}
		return fixture.Floats(float32(i))
	}}})
	var last error
	rows := int64(0)
	for b, err := range m.Predict(t.Context(), &loaders.Source{Plan: p}, nil) {
		if last = err; err == nil {
			rows += b.Rows()
		}
	}
	var e *millrace.Error
	if !errors.As(last, &e) || e.Record != 3 || e.Feature != "x" || !errors.Is(last, millrace.ErrSchema) {
		t.Fatalf("got %v", last)
	}
	if rows != 2 {
		t.Errorf("%d rows before the bad batch, want 2", rows)
	}
}

// A step computes only the requested outputs.
func TestChosenOutputs(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	m, err := estimator.LoadModel("../testdata/models/outputs", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	src := estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs {
		return &estimator.Outputs{Tensors: map[string]tfbridge.Output{
			"image": s.Zeros(tfbridge.Float, 2, 8, 8), "label": s.Const([]int64{6, 8})}}
	})
	for batch, err := range m.Predict(t.Context(), src, &estimator.PredictOptions{Outputs: []string{"text", "next"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := batch.Names(); !slices.Equal(got, []string{"text", "next"}) {
			t.Errorf("a batch holds %q", got)
		}
		break // the source is endless
	}
	for _, tt := range []struct {
		outputs []string
		want    string
	}{
		{[]string{"nxt"}, `tensor "nxt": the signature has no such output; it has "bright", "mean", "next", "text"`},
		{[]string{"next", "next"}, "given twice"},
	} {
		for _, err := range m.Predict(t.Context(), src, &estimator.PredictOptions{Outputs: tt.outputs}) {
			if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %v\nwant %s", tt.outputs, err, tt.want)
			}
		}
	}
}
