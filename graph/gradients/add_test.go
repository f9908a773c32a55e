package gradients_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// evaluate computes outputs.
func evaluate(t *testing.T, s *graph.Scope, outputs ...tfbridge.Output) [][]float32 {
	t.Helper()
	out, err := graph.Exec(t.Context(), s, outputs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var values [][]float32
	for _, o := range out {
		values = append(values, append([]float32(nil), floats(t, o)...))
		o.Close()
	}
	return values
}

// A loop built in Go does not keep values for its derivative, so it runs once more.
func TestLoopBuiltInGo(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	x, w := s.Const(float32(2)), s.Const(float32(3))
	y := graph.While(s, []tfbridge.Output{s.Const(int32(0)), x}, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
		return graph.Less(s, v[0], s.Const(int32(4)))
	}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, v[0], s.Const(int32(1))), graph.Mul(s, v[1], w)}
	}, nil)
	d := gradients.Add(s, y[1:], []tfbridge.Output{x, w}, nil)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	got := evaluate(t, s, d...)
	if got[0][0] != 81 || got[1][0] != 2*4*27 { // expects y = x w⁴
		t.Errorf("got %v, want 81 and 216", got)
	}
}

// The derivative's loop computes a counter from the number of iterations, whatever its
// first value, its step and its type, and whether the graph shows the first value.
func TestCounters(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Const(float32(2))
	for _, first := range []tfbridge.Output{
		s.Const(int64(3)), s.Const(int32(3)), s.Op1("PlaceholderWithDefault", map[string]any{"shape": tfbridge.ScalarShape()}, s.Const(int64(3))),
	} {
		var limit, step any = int64(9), int64(2)
		if first.DataType() == tfbridge.Int32 {
			limit, step = int32(9), int32(2)
		}
		y := graph.While(s, []tfbridge.Output{first, x}, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
			return graph.Less(s, v[0], s.Const(limit))
		}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Add(s, v[0], s.Const(step)), graph.Mul(s, v[1], graph.Cast(s, v[0], tfbridge.Float))}
		}, nil)
		d := gradients.Add(s, y[1:], []tfbridge.Output{x}, nil)
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		if got := evaluate(t, s, d...); got[0][0] != 3*5*7 {
			t.Errorf("%v: got %v, want 105", first.DataType(), got)
		}
	}
}

// The derivative of a gather needs the counter itself, which the loop does not keep.
func TestCounterAsIndex(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Const([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9})
	y := graph.While(s, []tfbridge.Output{s.Const(int32(3)), s.Const(float32(0))}, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
		return graph.Less(s, v[0], s.Const(int32(9)))
	}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, v[0], s.Const(int32(2))), graph.Add(s, v[1], graph.GatherV2(s, x, v[0], 0))}
	}, nil)
	d := gradients.Add(s, y[1:], []tfbridge.Output{x}, nil)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	if got := evaluate(t, s, d...)[0]; !slices.Equal(got, []float32{0, 0, 0, 1, 0, 1, 0, 1, 0}) {
		t.Errorf("got %v, want 1 at 3, 5 and 7", got)
	}
}

// A variable may have another shape in each iteration.
func TestGrowingVariable(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Const([]float32{2, 3})
	y := graph.While(s, []tfbridge.Output{s.Const(int32(0)), x}, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
		return graph.Less(s, v[0], s.Const(int32(3)))
	}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
		longer := s.Op1("Tile", nil, v[1], s.Const([]int32{2}))
		return []tfbridge.Output{graph.Add(s, v[0], s.Const(int32(1))), graph.Mul(s, longer, longer)}
	}, &graph.WhileOptions{Shapes: []tfbridge.Shape{tfbridge.ScalarShape(), tfbridge.MakeShape(-1)}})
	d := gradients.Add(s, y[1:], []tfbridge.Output{x}, nil)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	// Three iterations make eight x⁸ of each x.
	if got := evaluate(t, s, d...)[0]; len(got) != 2 || got[0] != 64*128 || got[1] != 64*2187 {
		t.Errorf("got %v, want 8192 and 139968", got)
	}
}

// The derivative of a condition built in Go takes the branch that the condition took.
func TestConditionBuiltInGo(t *testing.T) {
	for _, positive := range []bool{true, false} {
		s := graph.NewScope()
		x, w := s.Const(float32(2)), s.Const(float32(5))
		y := graph.Cond(s, s.Const(positive), func(s *graph.Scope) []tfbridge.Output {
			return []tfbridge.Output{graph.Mul(s, x, w)}
		}, func(s *graph.Scope) []tfbridge.Output {
			return []tfbridge.Output{s.Op1("Neg", nil, x)}
		})
		d := gradients.Add(s, y, []tfbridge.Output{x, w}, nil)
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		got := evaluate(t, s, d...)
		want := [2]float32{-1, 0}
		if positive {
			want = [2]float32{5, 2}
		}
		if got[0][0] != want[0] || got[1][0] != want[1] {
			t.Errorf("%v: got %v, want %v", positive, got, want)
		}
		s.Graph().Close()
	}
}

// Tensors that the sum does not depend on, or only through a comparison, have no
// derivative.
func TestConstant(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	x, z := s.Const(float32(2)), s.Const(float32(2))
	y := graph.Mul(s, x, graph.Cast(s, graph.Greater(s, z, x), tfbridge.Float))
	d := gradients.Add(s, []tfbridge.Output{y, s.Op1("Floor", nil, z)}, []tfbridge.Output{x, z}, nil)
	if s.Err() != nil || d[0].Op == nil || d[1].Op != nil {
		t.Errorf("got %v, %v", d, s.Err())
	}
}

// An operation without a rule is named, before anything runs.
func TestNoRule(t *testing.T) {
	tests := map[string]func(s *graph.Scope, x tfbridge.Output) tfbridge.Output{
		`inverse of type MatrixInverse`: func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			op := s.AddOperation(tfbridge.OpSpec{Type: "MatrixInverse", Name: "inverse", Input: []tfbridge.Input{x}})
			return op.Output(0)
		},
		"random numbers": func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			return graph.Cond(s, s.Const(true), func(s *graph.Scope) []tfbridge.Output {
				r := s.Op1("RandomUniform", map[string]any{"dtype": tfbridge.Float}, s.Const([]int32{2, 2}))
				return []tfbridge.Output{graph.Mul(s, x, r)}
			}, func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{graph.Identity(s, x)} })[0]
		},
	}
	for want, build := range tests {
		s := graph.NewScope()
		x := s.Const([][]float32{{1, 2}, {3, 4}})
		gradients.Add(s, []tfbridge.Output{build(s, x)}, []tfbridge.Output{x}, nil)
		if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		s.Graph().Close()
	}
}

// A signature that changes a variable other than by a new value cannot be opened. The
// error names the operation.
func TestOpenChange(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	v := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": tfbridge.MakeShape(2), "shared_name": "v"})
	change := s.AddOperation(tfbridge.OpSpec{Type: "ResourceScatterMul", Name: "scale", Input: []tfbridge.Input{v, s.Const(int32(1)), s.Const(float32(1))}})
	y := graph.Identity(s.WithControlDependencies(change), s.Const(float32(1)))
	opened := gradients.Open(s, &gradients.OpenOptions{Outputs: []string{y.Op.Name()}})
	if len(opened.Outputs) != 1 || opened.Outputs[0].Op != nil || opened.Variables != nil {
		t.Errorf("got outputs %v of variables %v", opened.Outputs, opened.Variables)
	}
	if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `scale (ResourceScatterMul)`) {
		t.Errorf("got %v", err)
	}
}
