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
	return rowsOf(t, d)
}

// rowsOf returns the rows of a dataset of blocks, and compares the positions in it with them.
func rowsOf(t *testing.T, d *dataset.Dataset) (rows []int64) {
	t.Helper()
	for el, err := range d.Unbatch().All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		row, position := el[0].Value().(int64), el[1].Value().(int64)
		if row%marked != position {
			t.Errorf("row %d is at position %d", row, position)
		}
		rows = append(rows, row)
	}
	return rows
}

// Blocks in any order come as they arrive, the one that is next when enough have come before it,
// and at the end those that did not arrive. A run that continues has the missing parts alone.
func TestGatherBlocksInAnyOrder(t *testing.T) {
	needLibrary(t)
	tests := map[string]struct {
		numbers, missing []int64
		start, buffered  int64
		want             []int64
	}{
		"all here":       {start: 9, buffered: 9, want: []int64{9, 10, 11, 12, 13, 14, 15, 16, 17}},
		"missing":        {missing: []int64{1, 2, 4, 5}, start: 16, buffered: 9, want: []int64{1, 4, 16, 17}},
		"missing blocks": {missing: []int64{0, 3, 7, 9}, start: 13, buffered: 1, want: []int64{0, 1, 2, 7, 8, 13, 14, 15, 16, 17}},
		"same block":     {missing: []int64{12, 13}, start: 14, buffered: 9, want: []int64{12, 14, 15, 16, 17}},
	}
	for name, x := range tests {
		for _, order := range []bool{false, true} {
			if diff := cmp.Diff(x.want, gatheredFrom(t, x.numbers, &native.BlocksOptions{Buffered: x.buffered, AnyOrder: order}, x.start, x.missing)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
		}
	}
	o := &native.BlocksOptions{Buffered: 9, AnyOrder: true}
	got := gatheredFrom(t, []int64{4, 4, 1}, o, 0, nil)
	seen := map[int64]int64{}
	for _, row := range got {
		seen[row%marked] += 1 + row/marked*10
	}
	want := map[int64]int64{}
	for row := range int64(18) {
		if want[row] = 1; row/3 == 4 || row/3 == 1 {
			want[row] = 11
		}
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("as they come (-want +got)\n%s", diff)
	}
}

// gatheredFrom returns the rows of blocks 0 to 5 where a service gives some numbers.
func gatheredFrom(t *testing.T, numbers []int64, o *native.BlocksOptions, start int64, missing []int64) []int64 {
	t.Helper()
	s := newScope(t)
	given := dataset.FromSlices(s, s.Const(append([]int64{}, numbers...))).Map("given", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return append([]tfbridge.Output{args[0]}, blockOf(s, args[0], marked)...)
	}, nil)
	o.Rows, o.Start, o.Last, o.WaitMS, o.Missing = 3, s.Const(start), 6, 60_000, s.Const(append([]int64{}, missing...))
	return rowsOf(t, native.GatherBlocks(given, o, func(s *graph.Scope, number tfbridge.Output) []tfbridge.Output { return blockOf(s, number, 0) }))
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
