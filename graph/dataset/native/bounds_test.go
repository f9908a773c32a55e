package native_test

import (
	"errors"
	"math"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// Every size may be as small and as large as its bounds, and not smaller or larger. A
// high of math.MaxInt64 means no upper bound.
func TestBounds(t *testing.T) {
	needLibrary(t)
	windows := func(s *graph.Scope, o native.WindowsOptions) {
		if o.Max == 0 {
			o.Min, o.Max = 2, 2
		}
		native.Windows(s, s.Const([]string{"x"}), s.Const([]int64{1}), sequenceFeatures(), &o)
	}
	examples := func(s *graph.Scope, o native.ExamplesOptions) {
		native.Examples(s, s.Const([]string{"x"}), s.Const([]int64{1}), corruptFeatures(), &o)
	}
	const dimension, buffer = 1 << 31, 1 << 30
	for _, b := range []struct {
		name      string
		low, high int64
		build     func(s *graph.Scope, n int64)
	}{
		{"Windows, smallest", 1, dimension, func(s *graph.Scope, n int64) { windows(s, native.WindowsOptions{Min: n, Max: max(n, 1)}) }},
		{"Windows, largest", 3, dimension, func(s *graph.Scope, n int64) { windows(s, native.WindowsOptions{Min: 3, Max: n}) }},
		{"Windows, stride", 0, math.MaxInt64 / 4, func(s *graph.Scope, n int64) { windows(s, native.WindowsOptions{Stride: n}) }},
		{"Windows, epochs", 0, math.MaxInt64, func(s *graph.Scope, n int64) { windows(s, native.WindowsOptions{Epochs: n}) }},
		{"Windows, batch", 0, dimension, func(s *graph.Scope, n int64) { windows(s, native.WindowsOptions{BatchSize: n}) }},
		{"Windows, buffer", 0, buffer, func(s *graph.Scope, n int64) { windows(s, native.WindowsOptions{BufferBytes: n}) }},
		{"Windows, threads", 0, 1000, func(s *graph.Scope, n int64) { windows(s, native.WindowsOptions{Threads: n}) }},
		{"Examples, batch", 0, math.MaxInt64, func(s *graph.Scope, n int64) { examples(s, native.ExamplesOptions{BatchSize: n, Epochs: 1}) }},
		{"Examples, epochs", 0, math.MaxInt64, func(s *graph.Scope, n int64) { examples(s, native.ExamplesOptions{Epochs: n}) }},
		{"Examples, buffer", 0, buffer, func(s *graph.Scope, n int64) { examples(s, native.ExamplesOptions{BufferBytes: n}) }},
		{"Records, buffer", 0, buffer, func(s *graph.Scope, n int64) {
			native.Records(s, s.Const("x"), s.Const(int64(1)), &native.RecordsOptions{BufferBytes: n})
		}},
		{"Parse, batch", 1, math.MaxInt64, func(s *graph.Scope, n int64) {
			native.Parse(dataset.FromTensors(s, s.Const("x")), n, corruptFeatures(), nil)
		}},
		{"padded size", -1, dimension, func(s *graph.Scope, n int64) {
			q := &native.Sequence{Features: []native.Feature{{Key: "n", Kind: native.Int, Shape: []int64{3}, List: true}}}
			q.Components = []native.Component{{Part: native.Padded, Size: n, Fill: s.Zeros(tfbridge.Int64)}}
			native.ParseSequences(dataset.FromTensors(s, s.Const("x")), 1, q, nil)
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			built := func(n int64) error {
				s := newScope(t)
				b.build(s, n)
				return s.Err()
			}
			for _, n := range []int64{b.low, b.high} {
				if err := built(n); err != nil {
					t.Errorf("%d: got %v", n, err)
				}
			}
			if err := built(b.low - 1); !errors.Is(err, millrace.ErrModel) {
				t.Errorf("%d: got %v, want an error of class %v", b.low-1, err, millrace.ErrModel)
			}
			if b.high == math.MaxInt64 {
				return
			}
			if err := built(b.high + 1); !errors.Is(err, millrace.ErrLimit) {
				t.Errorf("%d: got %v, want an error of class %v", b.high+1, err, millrace.ErrLimit)
			}
		})
	}
}
