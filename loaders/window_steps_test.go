package loaders_test

import (
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"

	"github.com/google/go-cmp/cmp"
)

// stepsOfRows are slices of a window's pairs and their expected results: the rows that
// are taken, and which of a pair's two values, -1 for both.
var stepsOfRows = []struct {
	slice  string
	take   func(n int) (begin, end int)
	column int
	single bool // one row, without its axis
}{
	{"[:]", func(n int) (int, int) { return 0, n }, -1, false},
	{"[1:]", func(n int) (int, int) { return min(1, n), n }, -1, false},
	{"[-2:]", func(n int) (int, int) { return max(n-2, 0), n }, -1, false},
	{"[:3]", func(n int) (int, int) { return 0, min(3, n) }, -1, false},
	{"[2:-1]", func(n int) (int, int) { return min(2, n), max(n-1, min(2, n)) }, -1, false},
	{"[:,1]", func(n int) (int, int) { return 0, n }, 1, false},
	{"[1:4,0]", func(n int) (int, int) { return min(1, n), min(4, n) }, 0, false},
	{"[0]", func(int) (int, int) { return 0, 1 }, -1, true},
	{"[-1,1]", func(n int) (int, int) { return n - 1, n }, 1, true},
}

// TestStepsOnWindows compares slices of windows of different lengths, which
// run on a whole batch of joined windows, with slices in Go.
func TestStepsOnWindows(t *testing.T) {
	testruntime.Need(t)
	const batch, pad = 3, -7
	data := newSequenceData([][]int{{4, 0, 7, 9}, {12, 1}})
	f := newSequence(t, "continuous_sequence", data)
	window{min: 1, max: 6, tail: "keep"}.set(f)
	f.Args["seed"] = 3
	windows := readWindows(t, openSequence(t, f), 0)
	f.Args["target_batch_size"] = batch
	f.Args["padding"] = []fixture.Object{{"tensor": "pair", "value": pad}, {"tensor": "ones", "value": 0}}
	f.Args["secondary_features"] = []fixture.Object{{"to_name": "ones", "type": "const", "args": fixture.Object{
		"shape": "pos", "dtype": "int64", "value": 1,
	}}}
	for _, step := range stepsOfRows {
		t.Run(step.slice, func(t *testing.T) {
			f.Args["processing_steps"] = []fixture.Object{
				{"type": "slice", "tensor": "pair", "args": fixture.Object{"slice": step.slice}},
			}
			l := openSequence(t, f)
			rest := windows
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				rows := rest[:b.Rows()]
				rest = rest[b.Rows():]
				var taken [][]float32
				var lengths []int
				for _, row := range rows {
					begin, end := step.take(len(row))
					taken = append(taken, pairsOf(row[begin:end], step.column))
					lengths = append(lengths, len(row))
				}
				if diff := cmp.Diff(joinPadded(taken, pad), column[float32](t, b, "pair")); diff != "" {
					t.Fatalf("windows %v (-want +got)\n%s", rows, diff)
				}
				if diff := cmp.Diff(onesOf(lengths), column[int64](t, b, "ones")); diff != "" {
					t.Fatalf("lengths %v, ones (-want +got)\n%s", lengths, diff)
				}
				if got := len(b.Tensor("pair").Shape()); step.single && step.column >= 0 && got != 1 {
					t.Errorf("%d dimensions, want 1", got)
				}
			}
			if len(rest) > 0 {
				t.Errorf("%d windows are missing", len(rest))
			}
		})
	}
}

// pairsOf returns the pairs of positions, or one value of each.
func pairsOf(row []int64, column int) (values []float32) {
	for _, n := range row {
		pair := []float32{float32(n), -float32(n)}
		if column >= 0 {
			pair = pair[column : column+1]
		}
		values = append(values, pair...)
	}
	return values
}

// joinPadded joins rows after padding them to the longest.
func joinPadded(rows [][]float32, pad float32) []float32 {
	longest := 0
	for _, row := range rows {
		longest = max(longest, len(row))
	}
	joined := make([]float32, 0, longest*len(rows))
	for _, row := range rows {
		joined = append(joined, row...)
		for range longest - len(row) {
			joined = append(joined, pad)
		}
	}
	return joined
}

// onesOf returns rows of ones of the given lengths, padded with zeros.
func onesOf(lengths []int) (ones []int64) {
	longest := 0
	for _, n := range lengths {
		longest = max(longest, n)
	}
	for _, n := range lengths {
		for i := range longest {
			one := int64(0)
			if i < n {
				one = 1
			}
			ones = append(ones, one)
		}
	}
	return ones
}
