package estimator_test

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/lookup"
	"millrace/graph/steps"
	"millrace/internal/test/leak"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// inputs are the rows that every source of these tests gives, two a batch.
var inputs = [][]float32{{0, 1, 2}, {1, 1, 2}, {2, 1, 2}, {3, 1, 2}, {4, 1, 2}}

// sources are five ways to feed inputs as "x" and the row's number as "id".
func sources(t *testing.T, m *estimator.Model) map[string]estimator.Source {
	t.Helper()
	config := plan(t, m, len(inputs), map[string]feature{
		"x":  {"float32", []int{3}, "float", floatAt(func(i int) []float32 { return inputs[i] })},
		"id": {"int64", []int{}, "int", numbered},
	}, "id")
	loader, err := loaders.OpenPlan(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loader.Close() })
	type row struct {
		X  []float32 `tf:"x"`
		ID int64     `tf:"id"`
	}
	rows := make([]row, len(inputs))
	for i, x := range inputs {
		rows[i] = row{x, int64(i)}
	}
	return map[string]estimator.Source{
		"plan":   &loaders.Source{Plan: config},
		"loader": loader,
		"dataset": estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromRows(s, rows).Batch(2, false)
		}),
		"values": estimator.FromValues(map[string]graph.Spec{
			"x":  {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 3)},
			"id": {DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)},
		}, valueBatches),
		"outputs": estimator.FromOutputs(queue),
	}
}

// valueBatches gives inputs as Go values.
func valueBatches(yield func(map[string]any, error) bool) {
	for i := 0; i < len(inputs); i += 2 {
		x, ids := inputs[i:min(i+2, len(inputs))], []int64{int64(i), int64(i + 1)}
		if !yield(map[string]any{"x": x, "id": ids[:len(x)]}, nil) {
			return
		}
	}
}

// queue returns inputs from a TensorFlow queue that is filled again for each run.
func queue(s *graph.Scope) *estimator.Outputs {
	types := []tfbridge.DataType{tfbridge.Float, tfbridge.Int64}
	q := s.Op1("FIFOQueueV2", map[string]any{"component_types": types, "shared_name": s.Prefix() + "queue"})
	// A closed queue stays closed, so one run takes all elements.
	var filled []*tfbridge.Operation
	for i := 0; i < len(inputs); i += 2 {
		x := inputs[i:min(i+2, len(inputs))]
		ids := []int64{int64(i), int64(i + 1)}[:len(x)]
		filled = append(filled, s.WithControlDependencies(filled...).AddOperation(tfbridge.OpSpec{
			Type: "QueueEnqueueV2", Input: []tfbridge.Input{q, tfbridge.OutputList{s.Const(x), s.Const(ids)}},
		}))
	}
	closed := s.WithControlDependencies(filled...).AddOperation(tfbridge.OpSpec{Type: "QueueCloseV2", Input: []tfbridge.Input{q}})
	next := s.Op("QueueDequeueV2", map[string]any{"component_types": types}, q)
	return &estimator.Outputs{Tensors: map[string]tfbridge.Output{"x": next[0], "id": next[1]}, Init: []*tfbridge.Operation{closed}}
}

// A loader's plan, a loader, a Go dataset, Go values and tensors of the graph feed a
// model in the same way: with the same batches, outputs and kept tensors.
func TestSources(t *testing.T) {
	m := load(t, "linear", "")
	for name, source := range sources(t, m) {
		t.Run(name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			pipe, err := m.Join(t.Context(), source, &estimator.JoinOptions{Keep: []string{"id"}})
			if err != nil {
				t.Fatal(err)
			}
			rounds := 2
			if name == "outputs" {
				rounds = 1 // a closed queue stays closed
			}
			for range rounds {
				got := collect(t, pipe.Run(t.Context(), nil))
				want := &collected{
					Rows: []int64{2, 2, 1}, IDs: []int64{0, 1, 2, 3, 4},
					Y: []float32{3, 8, 4, 7, 5, 6, 6, 5, 7, 4},
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
		})
	}
}

// collected is the result of a run.
type collected struct {
	Rows []int64
	IDs  []int64
	Y    []float32
}

func collect(t *testing.T, batches iter.Seq2[*steps.Batch, error]) *collected {
	t.Helper()
	c := &collected{}
	for b, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		y, err := tfbridge.View[float32](b.Tensor("y"))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tfbridge.View[int64](b.Tensor("id"))
		if err != nil {
			t.Fatal(err)
		}
		c.Rows, c.IDs, c.Y = append(c.Rows, b.Rows()), append(c.IDs, ids...), append(c.Y, y...)
	}
	return c
}

// A source without end is run for a number of steps.
func TestSourceWithoutEnd(t *testing.T) {
	m := load(t, "constant", "")
	pipe, err := m.Join(t.Context(), estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs {
		return &estimator.Outputs{Tensors: map[string]tfbridge.Output{"x": s.Const([]float32{1, 2})}}
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for b, err := range pipe.Run(t.Context(), &estimator.RunOptions{Steps: 7}) {
		if err != nil || b.Rows() != 2 {
			t.Fatal(b, err)
		}
		n++
	}
	if n != 7 {
		t.Errorf("%d steps, want 7", n)
	}
}

// The lookup tables of a source are filled before its first step.
func TestSourceWithTable(t *testing.T) {
	m := load(t, "constant", "")
	table := func(s *graph.Scope) *lookup.StaticHashTable {
		words := lookup.KeyValueTensorInitializer(s.Const([]string{"mill"}), s.Const([]float32{2}))
		return lookup.NewStaticHashTable(s, words, s.Const(float32(-1)))
	}
	words := []string{"mill", "sea"}
	sources := map[string]estimator.Source{
		"outputs": estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs {
			return &estimator.Outputs{Tensors: map[string]tfbridge.Output{"x": table(s).Lookup(s, s.Const(words))}}
		}),
		"dataset": estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
			found := table(s)
			type row struct {
				Word tfbridge.Output `tf:"word"`
			}
			type input struct {
				X tfbridge.Output `tf:"x"`
			}
			rows := dataset.FromColumns(s, map[string][]string{"word": words})
			return dataset.MapOf(rows, "look up", func(s *graph.Scope, r row) input {
				return input{found.Lookup(s, r.Word)}
			}, nil).Repeat(-1).Batch(2, true)
		}),
	}
	for name, source := range sources {
		pipe, err := m.Join(t.Context(), source, &estimator.JoinOptions{Keep: []string{"x"}})
		if err != nil {
			t.Fatal(name, err)
		}
		for b, err := range pipe.Run(t.Context(), &estimator.RunOptions{Steps: 1}) {
			if err != nil {
				t.Fatal(name, err)
			}
			if x, err := tfbridge.View[float32](b.Tensor("x")); err != nil || !slices.Equal(x, []float32{2, -1}) {
				t.Errorf("%s: got %v, %v, want [2 -1]", name, x, err)
			}
		}
	}
}

// A faulty source is an error before or during the run, and the model remains usable.
func TestSourceFaults(t *testing.T) {
	m := load(t, "constant", "")
	vector := map[string]graph.Spec{"x": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)}}
	values := func(element map[string]any, err error) iter.Seq2[map[string]any, error] {
		return func(yield func(map[string]any, error) bool) { yield(element, err) }
	}
	broken := errors.New("the wire is cut")
	tests := []struct {
		name   string
		source estimator.Source
		class  error
		words  string
	}{
		{"nil", nil, millrace.ErrModel, "the source is nil"},
		{"no such tensor", estimator.FromValues(map[string]graph.Spec{"z": vector["x"]}, valueBatches), millrace.ErrModel, "the source has no tensor of this name"},
		{"no specs", estimator.FromValues(nil, valueBatches), millrace.ErrModel, "no tensors"},
		{"another name", estimator.FromValues(vector, values(map[string]any{"z": 1}, nil)), millrace.ErrModel, `"z"`},
		{"missing", estimator.FromValues(vector, values(nil, nil)), millrace.ErrModel, `no tensor "x"`},
		{"another type", estimator.FromValues(vector, values(map[string]any{"x": []int64{1}}, nil)), millrace.ErrModel, "int64"},
		{"another shape", estimator.FromValues(vector, values(map[string]any{"x": [][]float32{{1}}}, nil)), millrace.ErrModel, "[1 1]"},
		{"no tensor", estimator.FromValues(vector, values(map[string]any{"x": struct{}{}}, nil)), millrace.ErrModel, `tensor "x"`},
		{"its own error", estimator.FromValues(vector, values(nil, broken)), broken, "the wire is cut"},
		{"panic", estimator.FromValues(vector, func(func(map[string]any, error) bool) { panic("oh") }), millrace.ErrInternal, "oh"},
		{"no names", estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 3, 1) }), millrace.ErrModel, "no names"},
		{"too many names", estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 3, 1) }, "x", "y"), millrace.ErrModel, "2 names"},
		{"a failing dataset", estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
			return dataset.Range(s, 0, 3, 1).Map("fail", func(s *graph.Scope, x []tfbridge.Output) []tfbridge.Output {
				check := graph.Assert(s, s.Const(false), []tfbridge.Output{s.Const("bad element")}, nil)
				return []tfbridge.Output{graph.Identity(s.WithControlDependencies(check), graph.Cast(s, x[0], tfbridge.Float))}
			}, nil).Batch(2, false)
		}, "x"), millrace.ErrModel, "read the source"},
		{"no outputs", estimator.FromOutputs(func(*graph.Scope) *estimator.Outputs { return nil }), millrace.ErrModel, "no tensors"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			var last error
			for _, err := range m.Predict(t.Context(), test.source, nil) {
				last = err
			}
			if !errors.Is(last, test.class) || !strings.Contains(last.Error(), test.words) {
				t.Errorf("got %v, want %v with %q", last, test.class, test.words)
			}
		})
	}
	want(t, []float32{1, 3}, predict[float32](t, m, scalarPlan(t, m, 0, 1), "y"))
}

// A position that cannot be saved is an error, not omitted. So are the places of rows that
// do not come from records.
func TestSourceWithoutState(t *testing.T) {
	m := load(t, "linear", "")
	for name, source := range sources(t, m) {
		pipe, err := m.Join(t.Context(), source, nil)
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range pipe.Run(t.Context(), &estimator.RunOptions{SaveEvery: 1}) {
			if loader := name == "plan" || name == "loader"; loader != (err == nil) {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil && b.State() == nil {
				t.Errorf("%s: no state", name)
			}
			if err != nil && !errors.Is(err, millrace.ErrCheckpoint) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for b, err := range pipe.Run(t.Context(), &estimator.RunOptions{Places: true}) {
			if loader := name == "plan" || name == "loader"; loader != (err == nil) || !loader && !errors.Is(err, millrace.ErrConfig) {
				t.Errorf("%s: places: %v", name, err)
			}
			if err == nil && int64(len(b.Places())) != b.Rows() {
				t.Errorf("%s: %d rows with %d places", name, b.Rows(), len(b.Places()))
			}
		}
	}
}
