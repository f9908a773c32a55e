package native_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// marked is added to the rows that a service gives.
const marked = 1000

// blockOf returns the three rows of a block: their positions, and a mark.
func blockOf(s *graph.Scope, number tfbridge.Output, mark int64) []tfbridge.Output {
	first := graph.Add(s, graph.Mul(s, number, s.Const(int64(3))), s.Const(mark))
	return []tfbridge.Output{graph.Add(s, first, s.Const([]int64{0, 1, 2}))}
}

// gathered returns the rows of blocks 1 to 5 without the first row, where a service gives the
// blocks of some numbers. It fails at the number bad.
func gathered(t *testing.T, numbers []int64, buffered, bad int64) (rows []int64) {
	t.Helper()
	s := newScope(t)
	given := dataset.FromSlices(s, s.Const(numbers)).Map("given", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		checked := s.WithControlDependencies(graph.Assert(s, graph.NotEqual(s, args[0], s.Const(bad)), args[:1], nil))
		return append([]tfbridge.Output{args[0]}, blockOf(checked, args[0], marked)...)
	}, nil)
	o := &native.BlocksOptions{Rows: 3, Start: s.Const(int64(4)), Last: 6, Buffered: buffered, WaitMS: 60_000}
	d := native.GatherBlocks(given, o, func(s *graph.Scope, number tfbridge.Output) []tfbridge.Output { return blockOf(s, number, 0) })
	for _, x := range all(t, d.Unbatch()) {
		rows = append(rows, x.(int64))
	}
	return rows
}

// Each block comes once and in its place, whatever a service gives.
func TestGatherBlocks(t *testing.T) {
	needLibrary(t)
	tests := map[string]struct {
		numbers       []int64
		buffered, bad int64
		here          []int64 // blocks that are made here
	}{
		"in order":             {numbers: []int64{1, 2, 3, 4, 5}, buffered: 9},
		"backwards":            {numbers: []int64{5, 4, 3, 2, 1}, buffered: 9},
		"missing and repeated": {numbers: []int64{5, 2, 2, 1, 9, 0, 1}, buffered: 9, bad: -1, here: []int64{3, 4}},
		"full buffer":          {numbers: []int64{5, 4, 3, 2, 1}, buffered: 2, here: []int64{1, 2, 3}},
		"early, small buffer":  {numbers: []int64{0, 1, 2, 3, 4, 5}, buffered: 1, bad: -1},
		"nothing":              {numbers: []int64{}, buffered: 1, here: []int64{1, 2, 3, 4, 5}},
		"bad data":             {numbers: []int64{1, 2, 3, 4, 5}, buffered: 9, bad: 4, here: []int64{4, 5}},
	}
	for name, x := range tests {
		var want []int64
		for row := int64(4); row < 18; row++ {
			mark := int64(marked)
			for _, block := range x.here {
				if row/3 == block {
					mark = 0
				}
			}
			want = append(want, row+mark)
		}
		if diff := cmp.Diff(want, gathered(t, x.numbers, x.buffered, x.bad)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
