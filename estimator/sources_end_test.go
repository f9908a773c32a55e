package estimator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

// vectorSpec declares the vector "x" of any length.
var vectorSpec = map[string]graph.Spec{"x": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)}}

// Leaving a loop ends the sequence of its values. The program still owns its tensors.
func TestValuesThatAreNotReadToTheEnd(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	own, err := tfbridge.NewTensor([]float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	ended := 0
	endless := func(yield func(map[string]any, error) bool) {
		defer func() { ended++ }()
		for yield(map[string]any{"x": own}, nil) {
		}
	}
	m := load(t, "constant", "")
	pipe, err := m.Join(t.Context(), estimator.FromValues(vectorSpec, endless), nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= 2; round++ {
		for b, err := range pipe.Run(t.Context(), nil) {
			if err != nil || b.Rows() != 2 {
				t.Fatal(b, err)
			}
			break
		}
		if ended != round {
			t.Errorf("after %d rounds the sequence has ended %d times", round, ended)
		}
	}
	if v, err := tfbridge.View[float32](own); err != nil || !slices.Equal(v, []float32{1, 2}) {
		t.Errorf("the program's tensor: %v, %v", v, err)
	}
}

// A source is started with its feeds. A failure then, or when the source is built, is
// reported as the source's.
func TestOutputsThatStart(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	m := load(t, "constant", "")
	fed, err := tfbridge.NewTensor([]float32{4, 5})
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	started := func(good bool) estimator.Source {
		return estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs {
			shape := tfbridge.MakeShape(2)
			handle := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": shape, "shared_name": s.Prefix() + "v"})
			value := s.Placeholder(tfbridge.Float, shape)
			check := graph.Assert(s, s.Const(good), []tfbridge.Output{s.Const("no good")}, nil)
			assign := s.WithControlDependencies(check).AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, value}, Attrs: map[string]any{"dtype": tfbridge.Float}})
			return &estimator.Outputs{
				Tensors: map[string]tfbridge.Output{"x": s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Float}, handle)},
				Init:    []*tfbridge.Operation{assign}, Feeds: map[tfbridge.Output]*tfbridge.Tensor{value: fed},
			}
		})
	}
	pipe, err := m.Join(t.Context(), started(true), &estimator.JoinOptions{Keep: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range pipe.Run(t.Context(), &estimator.RunOptions{Steps: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if x, err := tfbridge.View[float32](b.Tensor("x")); err != nil || !slices.Equal(x, []float32{4, 5}) {
			t.Errorf("got %v, %v", x, err)
		}
	}
	wrong := func(s *graph.Scope) tfbridge.Output { return s.Op1("NoSuchOperation", nil) }
	for want, source := range map[string]estimator.Source{
		"start the source: ": started(false),
		"NoSuchOperation": estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs {
			return &estimator.Outputs{Tensors: map[string]tfbridge.Output{"x": wrong(s)}}
		}),
		"NoSuchOp": estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs { wrong(s); return nil }),
		"NoSuch": estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
			wrong(s)
			return dataset.Range(s, 0, 3, 1)
		}, "x"),
	} {
		var last error
		for _, err := range m.Predict(t.Context(), source, nil) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), want) {
			t.Errorf("got %v\nwant %s", last, want)
		}
	}
}

// If a model is closed while a loop reads, the loop gets an error, and not the end of
// the data.
func TestSourceOfAClosedModel(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	m := load(t, "constant", "")
	data := estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 1000, 1).Map("number", func(s *graph.Scope, n []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Cast(s, n[0], tfbridge.Float)}
		}, nil).Batch(2, true)
	}, "x")
	var last error
	n := 0
	for _, err := range m.Predict(t.Context(), data, nil) {
		if last = err; err == nil {
			n++
			m.Close()
		}
	}
	if !errors.Is(last, millrace.ErrClosed) || n > 10 {
		t.Errorf("after %d batches: %v", n, last)
	}
}
