package estimator_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

func numbered(i int) example.Feature { return fixture.Ints(int64(i)) }

// identity is a model that returns its input.
func identity(s *graph.Scope, x tfbridge.Output) tfbridge.Output { return graph.Identity(s, x) }

// below asserts that every value is below 100.
func below(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	ok := graph.ReduceAll(s, graph.Less(s, x, s.Const(float32(100))))
	check := graph.Assert(s, ok, []tfbridge.Output{s.Const("a value of 100 or more")}, nil)
	return graph.Identity(s.WithControlDependencies(check), x)
}

// huge gives 1 TiB for a negative value, and otherwise its input.
func huge(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	n := graph.Select(s, graph.ReduceAny(s, graph.Less(s, x, s.Const(float32(0)))), s.Const(int64(1)<<38), s.Const(int64(0)))
	more := s.Op1("Fill", nil, graph.ExpandDims(s, n, 0), s.Const(float32(1)))
	return graph.Slice(s, graph.ConcatV2(s, []tfbridge.Output{x, more}, 0), s.Const([]int64{0}), graph.ExpandDims(s, graph.Size(s, x), 0))
}

// scalarPlan is a plan over records with one float "x" each.
func scalarPlan(t *testing.T, m *estimator.Model, values ...float32) *loaders.Plan {
	t.Helper()
	return plan(t, m, len(values), map[string]feature{"x": {"float32", []int{}, "float", floatAt(func(i int) []float32 { return values[i : i+1] })}})
}

func loadBuilt(t *testing.T, dir string) *estimator.Model {
	t.Helper()
	m, err := estimator.LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// lastError runs a plan to its end and returns the final error, and the number of rows
// before it.
func lastError(t *testing.T, m *estimator.Model, p *loaders.Plan) (rows int64, last error) {
	t.Helper()
	for b, err := range m.Predict(t.Context(), &loaders.Source{Plan: p}, nil) {
		if last = err; err == nil {
			rows += b.Rows()
		}
	}
	return rows, last
}

// The error of a model's step names signature and node. The batches before it are
// delivered, and the model remains usable (E26, E27).
func TestStepFails(t *testing.T) {
	first := load(t, "constant", "")
	if _, err := lastError(t, first, scalarPlan(t, first, 1)); err != nil {
		t.Fatal(err) // process-wide resources exist from here on
	}
	tests := []struct {
		name  string
		body  func(*graph.Scope, tfbridge.Output) tfbridge.Output
		bad   float32
		class millrace.Class
		words []string
	}{
		{"E26 1 TiB", huge, -1, millrace.ErrLimit, []string{"Fill", "OOM"}},
		{"E27 assert", below, 100, millrace.ErrModel, []string{"Assert", "a value of 100 or more"}},
		{"E27 an assertion that speaks of the iterator", func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			ok := graph.ReduceAll(s, graph.Less(s, x, s.Const(float32(100))))
			return graph.Identity(s.WithControlDependencies(graph.Assert(s, ok, []tfbridge.Output{s.Const("IteratorGetNext")}, nil)), x)
		}, 100, millrace.ErrModel, []string{"IteratorGetNext"}},
		{"E27 the code of the data's end", func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			types := map[string]any{"output_types": []tfbridge.DataType{tfbridge.Int64}, "output_shapes": []tfbridge.Shape{tfbridge.ScalarShape()}}
			n := graph.Cast(s, graph.ReduceAll(s, graph.Less(s, s.Const(float32(0)), x)), tfbridge.Int64)
			own := s.Op1("RangeDataset", types, s.Const(int64(0)), n, s.Const(int64(1)))
			it := s.Op("AnonymousIteratorV2", types)[0]
			made := s.AddOperation(tfbridge.OpSpec{Type: "MakeIterator", Input: []tfbridge.Input{own, it}})
			next := s.WithControlDependencies(made).Op1("IteratorGetNext", types, it)
			return graph.Identity(s.WithControlDependencies(next.Op), x)
		}, -1, millrace.ErrModel, []string{"End of sequence"}},
		{"E27 NaN check", func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			return s.Op1("CheckNumerics", map[string]any{"message": "no number"}, s.Op1("Log", nil, x))
		}, -1, millrace.ErrModel, []string{"CheckNumerics", "no number"}},
		{"E27 division by zero", func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			return graph.FloorDiv(s, s.Const(int64(1)), graph.Cast(s, x, tfbridge.Int64))
		}, 0, millrace.ErrModel, []string{"FloorDiv", "ivision by zero"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			dir := builtModel(t, test.body, nil)
			m := loadBuilt(t, dir)
			bad, good := scalarPlan(t, m, 1, 2, 3, test.bad, 5), scalarPlan(t, m, 1, 2, 3)
			rounds := 2
			if test.class == millrace.ErrLimit {
				rounds = 1 // TensorFlow waits for ten seconds for memory to come free
			}
			for range rounds {
				rows, err := lastError(t, m, bad)
				var e *millrace.Error
				if !errors.Is(err, test.class) || errors.Is(err, millrace.ErrIO) || !errors.As(err, &e) || e.Signature != "serving_default" || e.File != dir {
					t.Fatalf("got %v, want class %q with model and signature", err, test.class)
				}
				for _, w := range test.words {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%q does not say %q", err, w)
					}
				}
				if rows != 2 {
					t.Errorf("%d rows before the bad batch, want 2", rows)
				}
				if rows, err := lastError(t, m, good); rows != 3 || err != nil {
					t.Errorf("the next run: %d rows, %v", rows, err)
				}
			}
		})
	}
}

// A loader that does not fit the signature is refused before anything runs,
// also where the config was checked without the model (E21 to E23).
func TestMisfits(t *testing.T) {
	m := load(t, "linear", "")
	ints := func(int) example.Feature { return fixture.Ints(1, 2, 3) }
	floats := floatAt(func(int) []float32 { return []float32{1, 2, 3} })
	tests := []struct {
		name    string
		feature string
		f       feature
		words   string
	}{
		{"E21 dtype", "x", feature{"int32", []int{3}, "int", ints}, "the source gives int32, the signature takes float32"},
		{"E22 size", "x", feature{"float32", []int{3, 1}, "float", floats}, "the source gives shape [?, 3, 1], the signature takes [?, 3]"},
		{"E22 rank", "x", feature{"float32", []int{}, "float", floatAt(scalars)}, "the source gives shape [?], the signature takes [?, 3]"},
		{"E23 missing", "z", feature{"float32", []int{3}, "float", floats}, "the source has no tensor of this name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := fixture.New(t)
			d.Manifest["features"] = []fixture.Object{{"name": test.feature, "dtype": test.f.dtype, "shape": test.f.shape, "deserialize_type": test.f.kind}}
			d.Args["primary_features"] = []fixture.Object{{"from_name": test.feature, "to_name": test.feature}}
			d.WriteRecords(t, "a.tfrecords", example.Marshal([]example.Named{{Name: test.feature, Feature: test.f.value(0)}}))
			d.Save(t)
			p, problems := loaders.Check(d.Config(), nil)
			if p == nil {
				t.Fatal(problems)
			}
			rows, err := lastError(t, m, p)
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrModel || e.Signature != "serving_default" || e.Tensor != "x" || !strings.Contains(err.Error(), test.words) || rows != 0 {
				t.Errorf("got %d rows and %v, want %q", rows, err, test.words)
			}
			_, problems = loaders.Check(d.Config(), &loaders.CheckOptions{Model: namesOf(t, m)})
			if !errors.Is(problems, millrace.ErrModel) && !errors.Is(problems, millrace.ErrConfig) || !strings.Contains(problems.Error(), "model") {
				t.Errorf("checked with the model: %v", problems)
			}
		})
	}
}

// Batches of one row, a short last batch and no batch at all are passed to the model
// (E24).
func TestBatchSizes(t *testing.T) {
	m := load(t, "constant", "")
	for _, size := range []int64{1, 2, 3, 7} {
		for _, n := range []int{0, 1, 3} {
			values := make([]float32, n)
			p := scalarPlan(t, m, values...)
			p.BatchSize = size
			if rows, err := lastError(t, m, p); rows != int64(n) || err != nil {
				t.Errorf("%d records in batches of %d: %d rows, %v", n, size, rows, err)
			}
		}
	}
}

// A signature with no output that Go can hold is refused when the model is
// loaded, by name and dtype (E25).
func TestOutputTypes(t *testing.T) {
	tests := []struct {
		word string
		body func(*graph.Scope, tfbridge.Output) tfbridge.Output
	}{
		{"resource", func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			return s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": tfbridge.ScalarShape()})
		}},
		{"variant", func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			return s.Op1("TensorListFromTensor", nil, x, s.Const([]int32{}))
		}},
	}
	for _, test := range tests {
		t.Run(test.word, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			dir := builtModel(t, test.body, nil)
			m, err := estimator.LoadModel(dir, nil)
			if err == nil {
				m.Close()
			}
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrModel || filepath.Dir(e.File) != dir || e.Signature != "serving_default" || e.Tensor != "y" || !strings.Contains(e.Msg, test.word) {
				t.Errorf("got %v, want an error of the model naming the output and %s", err, test.word)
			}
		})
	}
}

// A model for a missing device runs on the available ones, as in Python and TensorFlow
// Serving. Without soft placement the error lists the available ones (E28).
func TestNoSuchDevice(t *testing.T) {
	dir := builtModel(t, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return graph.Identity(s.WithDevice("/device:GPU:7"), x)
	}, nil)
	run := func(o *estimator.ModelOptions) error {
		m, err := estimator.LoadModel(dir, o)
		if err == nil {
			defer m.Close()
			_, err = lastError(t, m, scalarPlan(t, m, 1, 2))
		}
		return err
	}
	if err := run(nil); err != nil {
		t.Errorf("by default: %v", err)
	}
	err := run(&estimator.ModelOptions{Session: &tfbridge.SessionOptions{}})
	if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "GPU:7") || !strings.Contains(err.Error(), "CPU:0") {
		t.Errorf("got %v, want the device and those that are there", err)
	}
}

// Faults of a model's graph that are found before TensorFlow loads it.
func TestBrokenGraphs(t *testing.T) {
	signature := func(m *tfproto.MetaGraphDef) *tfproto.SignatureDef { return m.SignatureDef["serving_default"] }
	tests := []struct {
		name  string
		edit  func(*tfproto.MetaGraphDef)
		words []string
	}{
		{"E17 unknown operation", func(m *tfproto.MetaGraphDef) { m.GraphDef.Node[1].Op = "FrobnicateV9" }, []string{"FrobnicateV9", "2.21.0", "custom"}},
		{"E10 no such node", func(m *tfproto.MetaGraphDef) {
			signature(m).Outputs["y"].Encoding = &tfproto.TensorInfo_Name{Name: "nothing:0"}
		}, []string{"serving_default", `"y"`, "nothing"}},
		{"E10 no such port", func(m *tfproto.MetaGraphDef) {
			signature(m).Outputs["y"].Encoding = &tfproto.TensorInfo_Name{Name: m.GraphDef.Node[1].Name + ":7"}
		}, []string{"serving_default", `"y"`, ":7"}},
		{"E10 no such input", func(m *tfproto.MetaGraphDef) {
			signature(m).Inputs["x"].Encoding = &tfproto.TensorInfo_Name{Name: "nothing:0"}
		}, []string{"serving_default", `"x"`, "nothing"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			m, err := estimator.LoadModel(builtModel(t, identity, test.edit), nil)
			if err == nil {
				defer m.Close()
			}
			if !errors.Is(err, millrace.ErrModel) {
				t.Fatalf("got %v", err)
			}
			for _, w := range test.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// E16.
func TestAssetFaults(t *testing.T) {
	tests := []struct {
		name   string
		damage func(dir string) error
		class  millrace.Class
	}{
		{"missing", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "assets")) }, millrace.ErrModel},
		{"a link out of the model", func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "assets", "*"))
			return errors.Join(err, os.Remove(files[0]), os.Symlink("/etc/hosts", files[0]))
		}, millrace.ErrUnsafeModel},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := copyModel(t, "vocab")
			if err := test.damage(dir); err != nil {
				t.Fatal(err)
			}
			m, err := estimator.LoadModel(dir, nil)
			if err == nil {
				m.Close()
			}
			if !errors.Is(err, test.class) || !strings.Contains(err.Error(), "assets") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Two models, or one model loaded twice, do not affect each other (E30).
func TestModelsAtOnce(t *testing.T) {
	x := map[string]feature{"x": {"float32", []int{}, "float", floatAt(scalars)}}
	constant, twin, other := load(t, "constant", ""), load(t, "constant", ""), load(t, "graph_v1", "")
	for range 2 {
		want(t, []float32{1, 3, 5}, predict[float32](t, constant, plan(t, constant, 3, x), "y"))
		want(t, []float32{8, 12, 16}, predict[float32](t, other, plan(t, other, 3, x), "y"))
		want(t, []float32{1, 3, 5}, predict[float32](t, twin, plan(t, twin, 3, x), "y"))
	}
	if err := twin.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, []float32{1, 3, 5}, predict[float32](t, constant, plan(t, constant, 3, x), "y"))
	if _, err := lastError(t, twin, plan(t, twin, 3, x)); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("a closed model: %v", err)
	}
}
