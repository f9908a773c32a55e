package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

func TestRagged(t *testing.T) {
	s := graphtest.NewScope(t)
	r := graph.RaggedRange(s, s.Const([]int64{2, 5, 9}), s.Const([]int64{4, 5, 12}))
	x := graph.RaggedTensor{Values: graph.GatherV2(s, s.Const([]int32{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110}), r.Values, 0), RowSplits: r.RowSplits}
	rows := graph.RaggedTensorToVariant(s, x)
	back := graph.RaggedTensorFromVariant(s, graph.GatherV2(s, rows, s.Const([]int64{2, 0}), 0),
		graph.Spec{DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)})
	shape := s.Const([]int64{-1, -1})
	got := run(t, s, r.Values, r.RowSplits, back.Values, back.RowSplits, graph.RaggedTensorToTensor(s, x, shape, s.Const(int32(-1))))
	want := []any{
		[]int64{2, 3, 9, 10, 11}, []int64{0, 2, 2, 5},
		[]int32{90, 100, 110, 20, 30}, []int64{0, 3, 5},
		[][]int32{{20, 30, -1}, {-1, -1, -1}, {90, 100, 110}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values, splits, from variants, tensor (-want +got)\n%s", diff)
	}
	if got := graph.SpecOf(back.Values).String(); got != "int32[?]" {
		t.Errorf("values from variants are a %s, want int32[?]", got)
	}
}

// TestRandomCounters checks that numbers depend on the counter alone, not on
// how many are drawn.
func TestRandomCounters(t *testing.T) {
	s := graphtest.NewScope(t)
	draw := func(counter uint64, n int64) tfbridge.Output {
		return graph.StatelessRandomUniformIntAt(s, s.Const([]int64{n}), s.Const([]uint64{5}),
			s.Const([]uint64{counter, 1 << 40}), s.Const(int64(3)), s.Const(int64(1000)))
	}
	ns := []int64{1, 2, 7, 1000}
	outputs := []tfbridge.Output{draw(0, 3000)}
	for _, n := range ns {
		outputs = append(outputs, draw(0, n), draw(50, n))
	}
	got := run(t, s, outputs...)
	all := got[0].([]int64)
	for i, n := range ns {
		if diff := cmp.Diff(all[:n], got[1+2*i]); diff != "" {
			t.Errorf("%d numbers from counter 0 (-want +got)\n%s", n, diff)
		}
		if diff := cmp.Diff(all[100:100+n], got[2+2*i]); diff != "" {
			t.Errorf("%d numbers from counter 50 (-want +got)\n%s", n, diff)
		}
	}
	for _, x := range all {
		if x < 3 || x >= 1000 {
			t.Fatalf("%d is not in [3, 1000)", x)
		}
	}
}
