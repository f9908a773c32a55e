package dataset_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
)

// threeOf returns 10*x, 10*x+1 and 10*x+2, computed by a function in a function.
func threeOf(s *graph.Scope, args outs) *dataset.Dataset {
	return dataset.Range(s, 0, 3, 1).Map("tens", func(s *graph.Scope, inner outs) outs {
		return outs{graph.Add(s, graph.Mul(s, args[0], s.Const(int64(10))), inner[0])}
	}, nil)
}

func TestInterleave(t *testing.T) {
	tests := []struct {
		name string
		o    *dataset.InterleaveOptions
		want []any
	}{
		{"one at a time", nil, values(0, 1, 2, 10, 11, 12, 20, 21, 22)},
		{"two", &dataset.InterleaveOptions{CycleLength: 2}, values(0, 10, 1, 11, 2, 12, 20, 21, 22)},
		{"blocks", &dataset.InterleaveOptions{CycleLength: 3, BlockLength: 2}, values(0, 1, 10, 11, 20, 21, 2, 12, 22)},
		{"parallel", &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2}, values(0, 10, 1, 11, 2, 12, 20, 21, 22)},
		{"buffers", &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2, InBuffer: 2, OutBuffer: 4}, values(0, 10, 1, 11, 2, 12, 20, 21, 22)},
		{"autotuned", &dataset.InterleaveOptions{CycleLength: 2, Parallel: dataset.Autotune, InBuffer: dataset.Autotune, OutBuffer: dataset.Autotune}, values(0, 10, 1, 11, 2, 12, 20, 21, 22)},
		{"more parallel than cycle", &dataset.InterleaveOptions{Parallel: 8}, values(0, 1, 2, 10, 11, 12, 20, 21, 22)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			d := dataset.Range(s, 0, 3, 1).Interleave("f", threeOf, tt.o)
			if diff := cmp.Diff(tt.want, all(t, d)); diff != "" {
				t.Errorf("elements (-want +got)\n%s", diff)
			}
			checkSpecs(t, d, "int64[]")
		})
	}
}

func TestSloppyInterleave(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 3, 1).
		Interleave("f", threeOf, &dataset.InterleaveOptions{CycleLength: 3, Parallel: 3, Sloppy: true}).Batch(9, true)
	got := all(t, d)[0].([]int64)
	slices.Sort(got)
	if !slices.Equal(got, []int64{0, 1, 2, 10, 11, 12, 20, 21, 22}) {
		t.Errorf("elements %v", got)
	}
}
