package graph_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	tfdata "millrace/graph/dataset"
	"millrace/tfbridge"
)

// A signature in the function of a dataset gives what the model does, after the model is closed. Two
// models in one graph do not disturb each other.
func TestFrozenSignature(t *testing.T) {
	tests := []struct {
		model, key string
		inputs     map[string]any
	}{
		{"linear", "", map[string]any{"x": [][]float32{{1, 2, 3}, {4, 5, 6}}}},
		{"two_signatures", "explain", map[string]any{"x": []float32{1, 2}}},
		{"vocab", "", map[string]any{"word": []string{"wheel", "mill", "none"}}},
		{"vocab_v1", "", map[string]any{"word": []string{"wheel", "mill", "none"}}},
		{"loop", "", map[string]any{"n": []int64{4}}},
		{"frozen_paths", "", map[string]any{"ids": []int64{0, 2}, "flag": true}},
	}
	for _, checked := range []bool{false, true} {
		s := graph.NewScope()
		defer s.Graph().Close()
		var fetches []tfbridge.Output
		var want []any
		for _, tt := range tests {
			m := load(t, tt.model, nil)
			results, err := call(t, m, tt.key, tt.inputs)
			if err != nil {
				t.Fatal(tt.model, err)
			}
			f, err := m.FreezeSignature(t.Context(), tt.key, 0)
			if err != nil {
				t.Fatal(tt.model, err)
			}
			m.Close()
			fn := f.AddTo(s.SubScope(tt.model), checked)
			var given []tfbridge.Output
			for _, name := range f.Inputs() {
				given = append(given, s.Const(tt.inputs[name]))
			}
			d := tfdata.FromTensors(s, given...).Map("call", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
				return fn.Call(s, args...)
			}, nil)
			if s.Err() != nil {
				t.Fatal(tt.model, s.Err())
			}
			fetches = append(fetches, d.SingleElement()...)
			for _, name := range f.Outputs() {
				want = append(want, results[name])
			}
		}
		got, err := graph.Exec(t.Context(), s, fetches, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range got {
			defer x.Close()
			if value := x.Value(); !reflect.DeepEqual(value, want[i]) {
				t.Errorf("output %d, checked %v:\n got %v\nwant %v", i, checked, value, want[i])
			}
		}
	}
}

// A signature that changes a variable, or needs a table that it fills, is refused with the name of
// the operation.
func TestFrozenSignatureRefused(t *testing.T) {
	for model, want := range map[string]string{"counter": "AssignAddVariableOp", "tables": "MutableDenseHashTable"} {
		_, err := load(t, model, nil).FreezeSignature(t.Context(), "", 0)
		if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", model, err, want)
		}
	}
	if _, err := load(t, "linear", nil).FreezeSignature(t.Context(), "other", 0); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("another signature: got %v", err)
	}
}

// The same model gives the same operations, whatever the order of a table's entries.
func TestFrozenSignatureIsStable(t *testing.T) {
	words := func() any {
		f, err := load(t, "vocab", nil).FreezeSignature(t.Context(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		s := graph.NewScope()
		defer s.Graph().Close()
		f.AddTo(s.SubScope("vocab"), true)
		var names []string
		for _, op := range s.Graph().Operations() {
			names = append(names, op.Name())
		}
		x, err := graph.Exec(t.Context(), s, []tfbridge.Output{s.Graph().Operation("vocab/Const").Output(0)}, nil, nil)
		if err != nil {
			t.Fatal(err, names)
		}
		defer x[0].Close()
		v, err := x[0].Strings()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if a := words(); !reflect.DeepEqual(a, []string{"mill", "race", "water", "wheel"}) {
		t.Errorf("the keys are %v", a)
	}
}
