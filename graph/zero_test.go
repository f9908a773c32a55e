package graph_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

// wantFailure checks that a scope failed and why.
func wantFailure(t *testing.T, s *graph.Scope, want string) {
	t.Helper()
	if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestNilAndZeroScopes(t *testing.T) {
	ctx := context.Background()
	x := graphtest.NewScope(t).Const(float32(1))
	for name, s := range map[string]*graph.Scope{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			if o := graph.Add(s, x, s.Const(float32(2))); o.Op != nil {
				t.Error("an output was made")
			}
			s.UpdateErr("x", errors.New("y"))
			sub := s.SubScope("a").WithDevice("/cpu:0").WithControlDependencies(x.Op)
			wantFailure(t, sub, "NewScope makes one")
			if _, err := s.Finalize(); err == nil || s.Graph() != nil || s.Prefix() != "" {
				t.Errorf("finalized: %v; graph %v, prefix %q", err, s.Graph(), s.Prefix())
			}
			if _, err := graph.Exec(ctx, s, []tfbridge.Output{x}, nil, nil); !errors.Is(err, millrace.ErrModel) {
				t.Errorf("Exec: %v", err)
			}
			if f := s.Func("f", nil, nil, nil); f.Name != "" {
				t.Error("a function was made")
			}
		})
	}
}

func TestNilClosures(t *testing.T) {
	tests := map[string]func(s *graph.Scope){
		"branch 0 is nil":              func(s *graph.Scope) { graph.Cond(s, s.Const(true), nil, nil) },
		"the condition or the body is": func(s *graph.Scope) { graph.While(s, []tfbridge.Output{s.Const(true)}, nil, nil, nil) },
		"the function is nil":          func(s *graph.Scope) { graph.Call(s, nil) },
		`function "f": the closure is`: func(s *graph.Scope) { s.Func("f", nil, nil, nil) },
		`function "g": the closure is`: func(s *graph.Scope) { s.Function("g", nil, nil, nil) },
		"-1 outputs":                   func(s *graph.Scope) { graph.Unpack(s, s.Const([]int32{1}), -1, 0) },
		"1152921504606846976 outputs":  func(s *graph.Scope) { graph.Unpack(s, s.Const([]int32{1}), 1<<60, 0) },
		"MaxIterations is -2": func(s *graph.Scope) {
			graph.While(s, []tfbridge.Output{s.Const(true)},
				func(s *graph.Scope, vars []tfbridge.Output) tfbridge.Output { return vars[0] },
				func(s *graph.Scope, vars []tfbridge.Output) []tfbridge.Output { return vars },
				&graph.WhileOptions{MaxIterations: -2})
		},
	}
	for want, build := range tests {
		s := graphtest.NewScope(t)
		build(s)
		wantFailure(t, s, want)
	}
}

func TestPanicInClosureLeavesNothing(t *testing.T) {
	s := graphtest.NewScope(t)
	noneLeft := leak.Objects(t, tfbridge.Live)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		graph.Cond(s, s.Const(true), func(s *graph.Scope) []tfbridge.Output { return nil },
			func(s *graph.Scope) []tfbridge.Output { panic("in a branch") })
	}()
	noneLeft()
}

func TestNilAndClosedModels(t *testing.T) {
	ctx := context.Background()
	closed, err := graph.LoadModel(filepath.Join("..", "testdata", "models", "linear"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(closed.Close(), closed.Close()); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*graph.Model{"nil": nil, "zero": {}, "closed": closed} {
		_, call := m.Call(ctx, "", map[string]any{"x": "no such type"})
		_, exec := m.Exec(ctx, nil, nil)
		_, op := m.Op("serving_default_x", 0)
		_, freeze := m.Freeze(ctx, "")
		for what, err := range map[string]error{"Call": call, "Exec": exec, "Op": op, "Freeze": freeze} {
			if !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("%s of a %s model: %v, want class %v", what, name, err, millrace.ErrClosed)
			}
		}
		if m != closed && (m.Graph() != nil || m.Session() != nil || m.Signatures() != nil || m.Close() != nil) {
			t.Errorf("a %s model has something", name)
		}
	}
	if _, err := graph.LoadChecked(nil, nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("LoadChecked of nil: %v", err)
	}
}

func TestModelNamesAnInputItDoesNotHave(t *testing.T) {
	m, err := graph.LoadModel(filepath.Join("..", "testdata", "models", "linear"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, err = m.Call(context.Background(), "", map[string]any{"X": []any{"of no type"}})
	if err == nil || !strings.Contains(err.Error(), `tensor "X": no such input; the signature has "x"`) {
		t.Error(err)
	}
}

func TestSecondGradientsSayWhatToDo(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Const(float32(3))
	y := []tfbridge.Output{graph.Add(s, graph.Mul(s, x, x), x)}
	for range 2 {
		graph.Gradients(s, y, []tfbridge.Output{x})
	}
	wantFailure(t, s, "a second call needs a scope of its own")
}
