package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

func ExampleModel_Freeze() {
	m, err := graph.LoadModel("../testdata/models/two_signatures", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	def, err := m.Freeze(context.Background(), "serving_default")
	if err != nil {
		log.Fatal(err)
	}
	g := tfbridge.NewGraph()
	defer g.Close()
	if err := g.Import(def, ""); err != nil {
		log.Fatal(err)
	}
	for _, op := range g.Operations() {
		fmt.Println(op.Type(), op.Name())
	}
	// Output:
	// Const k
	// Placeholder serving_default_x
	// StatefulPartitionedCall StatefulPartitionedCall_1
}

// frozen freezes a signature and loads the result without any other file.
func frozen(t *testing.T, m *graph.Model, key string) *graph.Model {
	t.Helper()
	def, err := m.Freeze(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "frozen.pb")
	if err := os.WriteFile(file, def, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := graph.ImportModel(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A frozen signature gives what the model does.
func TestFreeze(t *testing.T) {
	tests := []struct {
		model, key string
		inputs     map[string]any
	}{
		{"linear", "", map[string]any{"x": [][]float32{{1, 2, 3}, {4, 5, 6}}}},
		{"two_signatures", "", map[string]any{"x": []float32{1, 2}}},
		{"two_signatures", "explain", map[string]any{"x": []float32{1, 2}}},
		{"constant", "", map[string]any{"x": []float32{1, 2}}},
		{"graph_v1", "", map[string]any{"x": []float32{1, 2}}},
		{"loop", "", map[string]any{"n": []int64{4}}},
		{"strings", "", map[string]any{"text": []string{"mill"}}},
		{"frozen_paths", "", map[string]any{"ids": []int64{0, 2}, "flag": true}},
		{"frozen_paths", "", map[string]any{"ids": []int64{1}, "flag": false}},
	}
	for _, tt := range tests {
		t.Run(tt.model+" "+tt.key, func(t *testing.T) {
			m := load(t, tt.model, nil)
			want, err := call(t, m, tt.key, tt.inputs)
			if err != nil {
				t.Fatal(err)
			}
			key := tt.key
			if key == "" {
				key = graph.DefaultSignature
			}
			sig := m.Signatures()[key]
			f := frozen(t, m, tt.key)
			feeds := map[tfbridge.Output]*tfbridge.Tensor{}
			for name, value := range tt.inputs {
				in, err := sig.Inputs[name].Output(f.Graph())
				if err != nil {
					t.Fatal(err)
				}
				if feeds[in], err = tfbridge.NewTensor(value); err != nil {
					t.Fatal(err)
				}
				defer feeds[in].Close()
			}
			for name, info := range sig.Outputs {
				out, err := info.Output(f.Graph())
				if err != nil {
					t.Fatal(err)
				}
				got, err := f.Exec(t.Context(), []tfbridge.Output{out}, feeds)
				if err != nil {
					t.Fatal(err)
				}
				if v := got[0].Value(); !reflect.DeepEqual(v, want[name]) {
					t.Errorf("%s is %v, want %v", name, v, want[name])
				}
				got[0].Close()
			}
			for _, op := range f.Graph().Operations() {
				if strings.Contains(op.Type(), "Var") {
					t.Errorf("%s is still a %s", op.Name(), op.Type())
				}
			}
		})
	}
}

// Freeze refuses state that a constant cannot hold, and names it.
func TestFreezeRefuses(t *testing.T) {
	tests := []struct{ model, key, want string }{
		{"vocab", "", "hash_table"},
		{"counter", "", "AssignAddVariableOp"},
		{"linear", "train", "no such signature"},
	}
	for _, tt := range tests {
		t.Run(tt.model, func(t *testing.T) {
			m := load(t, tt.model, nil)
			if _, err := m.Freeze(t.Context(), tt.key); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	s := graphtest.NewScope(t)
	double := s.Func("double", []graph.Spec{{DType: tfbridge.Int32}}, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, args[0], args[0])}
	})
	other := s.Func("other", []graph.Spec{{DType: tfbridge.Int32}}, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return args
	})
	x := s.SubScope("a").Const(int32(3))
	y := graph.Call(s.SubScope("b"), double, x)[0]
	graph.Call(s.SubScope("c"), other, x)
	waits := graph.Identity(s.SubScope("d").WithControlDependencies(y.Op), s.SubScope("e").Const(int32(1)))
	def, err := os.ReadFile(writeGraph(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		output    string
		ops       []string
		functions int
	}{
		{y.String(), []string{"a/Const", y.Op.Name()}, 1},
		{waits.Op.Name(), []string{"a/Const", y.Op.Name(), "e/Const", waits.Op.Name()}, 1},
		{x.Op.Name(), []string{"a/Const"}, 0},
	} {
		pruned, err := graph.Prune(def, tt.output)
		if err != nil {
			t.Fatal(err)
		}
		g := tfbridge.NewGraph()
		if err := g.Import(pruned, ""); err != nil {
			t.Fatal(err)
		}
		var ops []string
		for _, op := range g.Operations() {
			ops = append(ops, op.Name())
		}
		functions, err := g.Functions()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(ops, tt.ops) || len(functions) != tt.functions {
			t.Errorf("%s needs %v and %d functions, want %v and %d", tt.output, ops, len(functions), tt.ops, tt.functions)
		}
		for _, f := range functions {
			f.Close()
		}
		g.Close()
	}
	for _, outputs := range [][]string{nil, {"nowhere"}, {"a/Const", "nowhere:1"}} {
		if _, err := graph.Prune(def, outputs...); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("%v: %v", outputs, err)
		}
	}
	if _, err := graph.Prune([]byte("no graph"), "x"); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("junk: %v", err)
	}
}
