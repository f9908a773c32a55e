package gradients_test

import (
	"slices"
	"testing"

	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// A variable that a model only gathers from has a derivative of rows. If the model also
// uses the variable as a whole, the derivative is dense.
func TestRowsOfVariables(t *testing.T) {
	tests := []struct {
		name        string
		once, whole bool
		axis        int64
		indices     []int64
		want        []float32 // derivative of a variable with 3 rows of 2
	}{
		{"once", true, false, 0, []int64{2, 0, 2}, []float32{3, 4, 0, 0, 6, 8}},
		{"twice", false, false, 0, []int64{2, 0, 2, 1}, []float32{3, 4, 5, 5, 6, 8}},
		{"and whole", false, true, 0, nil, []float32{4, 5, 6, 6, 7, 9}},
		{"columns", true, false, 1, nil, []float32{4, 3, 4, 3, 4, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graph.NewScope()
			defer s.Graph().Close()
			shape := tfbridge.MakeShape(3, 2)
			handle := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": shape, "shared_name": "w"})
			start := s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, s.Const([][]float32{{1, 2}, {3, 4}, {5, 6}})}})
			w := graph.Identity(s, s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Float}, handle))
			// Columns are gathered along axis 1: column 1 once, column 0 twice with other factors.
			rows, factors := []int32{2, 0, 2}, [][]float32{{2, 3}, {3, 4}, {4, 5}}
			if tt.axis == 1 {
				rows, factors = []int32{1, 0, 0}, [][]float32{{3, 1, 3}, {3, 1, 3}, {3, 1, 3}}
			}
			loss := graph.ReduceSum(s, graph.Mul(s, graph.GatherV2(s, w, s.Const(rows), tt.axis), s.Const(factors)))
			if !tt.once {
				again := graph.GatherV2(s, w, s.Const([]int64{1}), 0)
				loss = graph.Add(s, loss, graph.ReduceSum(s, graph.Mul(s, again, s.Const(float32(5)))))
			}
			if tt.whole {
				loss = graph.Add(s, loss, graph.ReduceSum(s, w))
			}
			opened := gradients.Open(s, &gradients.OpenOptions{Outputs: []string{loss.String()}})
			if opened == nil {
				t.Fatal(s.Err())
			}
			d := opened.Gradients(opened.Outputs, opened.Variables, nil)
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			fetch := []tfbridge.Output{d[0].Dense(s, opened.Variables[0])}
			if has := d[0].Indices.Op != nil; has != (tt.indices != nil) {
				t.Fatalf("rows: %v, want %v", has, tt.indices != nil)
			} else if has {
				fetch = append(fetch, d[0].Indices)
			}
			out := runIn(t, s, start, fetch)
			if got := floats(t, out[0]); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.indices != nil {
				got, err := tfbridge.View[int64](out[1])
				sorted := slices.Clone(got)
				if err != nil || !slices.Equal(slices.Sorted(slices.Values(sorted)), slices.Sorted(slices.Values(tt.indices))) {
					t.Errorf("rows %v, %v, want %v", got, err, tt.indices)
				}
			}
		})
	}
}

// runIn runs start, then computes outputs.
func runIn(t *testing.T, s *graph.Scope, start *tfbridge.Operation, fetch []tfbridge.Output) []*tfbridge.Tensor {
	t.Helper()
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Run(nil, nil, []*tfbridge.Operation{start}); err != nil {
		t.Fatal(err)
	}
	out, err := session.Run(nil, fetch, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, o := range out {
			o.Close()
		}
	})
	return out
}
