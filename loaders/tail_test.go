package loaders_test

import (
	"fmt"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"

	"github.com/google/go-cmp/cmp"
)

// TestTailPad fills up the last window of every file, in chunks of several
// sizes.
func TestTailPad(t *testing.T) {
	testruntime.Need(t)
	// The windows are positions 0 to 6, none, 7 and 8, 9 to 14.
	data := newSequenceData([][]int{{3, 4}, {}, {1, 1}, {6}})
	tests := []struct {
		size, stride int64
		want         [][]int64
	}{
		{3, 0, [][]int64{{0, 1, 2}, {3, 4, 5}, {6, 0, 0}, {7, 8, 0}, {9, 10, 11}, {12, 13, 14}}},
		{4, 3, [][]int64{{0, 1, 2, 3}, {3, 4, 5, 6}, {6, 0, 0, 0}, {7, 8, 0, 0}, {9, 10, 11, 12}, {12, 13, 14, 0}}},
		{2, 5, [][]int64{{0, 1}, {5, 6}, {7, 8}, {9, 10}, {14, 0}}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.size, tt.stride), func(t *testing.T) {
			f := newSequence(t, "continuous_sequence", data)
			window{min: tt.size, max: tt.size, stride: tt.stride, tail: "pad"}.set(f)
			f.Args["target_batch_size"] = 2
			l := openSequence(t, f)
			for _, chunk := range []int64{1, 2, 100} {
				l.SetChunk(chunk)
				var got [][]int64
				for b, err := range l.Batches(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, slices.Collect(slices.Chunk(column[int64](t, b, "pos"), int(tt.size)))...)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("chunks of %d (-want +got)\n%s", chunk, diff)
				}
			}
		})
	}
}

// TestTailPadToTheDrawnSize compares windows of random sizes with those of
// tail "keep": all but the last of a file are the same.
func TestTailPadToTheDrawnSize(t *testing.T) {
	testruntime.Need(t)
	data := newSequenceData([][]int{{40}})
	read := func(seed int, tail string) [][]int64 {
		f := newSequence(t, "continuous_sequence", data)
		window{min: 1, max: 9, tail: tail}.set(f)
		f.Args["seed"] = seed
		return readTail(t, f)
	}
	padded := 0
	for seed := range 4 {
		keep, pad := read(seed, "keep"), read(seed, "pad")
		last := len(keep) - 1
		if diff := cmp.Diff(keep[:last], pad[:len(pad)-1]); diff != "" {
			t.Errorf("windows but the last (-keep +pad)\n%s", diff)
		}
		n := len(keep[last])
		if got := pad[last]; !slices.Equal(got[:n], keep[last]) || !slices.Equal(got[n:], make([]int64, len(got)-n)) || len(got) > 9 {
			t.Errorf("last window %v, kept %v", got, keep[last])
		}
		padded += len(pad[last]) - n
	}
	if padded == 0 {
		t.Error("nothing was padded")
	}
}

// readTail returns the positions of windows of which the last may be padded.
func readTail(t *testing.T, f *fixture.Dataset) (windows [][]int64) {
	t.Helper()
	for b, err := range openSequence(t, f).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, column[int64](t, b, "pos"))
	}
	return windows
}
