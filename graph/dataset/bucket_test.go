package dataset_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// An element as long as a boundary belongs to the bucket that ends there.
func TestBucketBoundariesAreIncluded(t *testing.T) {
	buckets := func() *dataset.Buckets {
		return &dataset.Buckets{Length: size, Boundaries: []int64{2, 4}, Sizes: []int64{9, 9, 9}}
	}
	tests := []struct {
		name  string
		with  func(b *dataset.Buckets)
		want  []any
		fails string
	}{
		{"padded", func(*dataset.Buckets) {}, []any{
			[][]int32{{1, 0}, {2, 2}}, [][]int32{{3, 3, 3, 0}, {4, 4, 4, 4}}, [][]int32{{5, 5, 5, 5, 5}},
		}, ""},
		{"to the boundary", func(b *dataset.Buckets) { b.ToBoundary, b.Boundaries = true, []int64{2, 5} }, []any{
			[][]int32{{1, 0}, {2, 2}}, [][]int32{{3, 3, 3, 0, 0}, {4, 4, 4, 4, 0}, {5, 5, 5, 5, 5}},
		}, ""},
		{"longer than the last boundary", func(b *dataset.Buckets) { b.ToBoundary = true }, []any{
			[][]int32{{1, 0}, {2, 2}}, [][]int32{{3, 3, 3, 0}, {4, 4, 4, 4}},
		}, "longer than the last boundary"},
		{"batched by the caller", func(b *dataset.Buckets) {
			b.Batch = func(window *dataset.Dataset, size out) *dataset.Dataset {
				return window.PaddedBatch(9, &dataset.PaddedBatchOptions{Size: size, Shapes: [][]int64{{6}}})
			}
		}, []any{
			[][]int32{{1, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0}}, [][]int32{{3, 3, 3, 0, 0, 0}, {4, 4, 4, 4, 0, 0}}, [][]int32{{5, 5, 5, 5, 5, 0}},
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			b := buckets()
			tt.with(b)
			rows := [][]int32{{1}, {2, 2}, {3, 3, 3}, {4, 4, 4, 4}, {5, 5, 5, 5, 5}}
			got, err := tryAll(t, dataset.FromRows(s, rows).BucketByLength("b", b))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("error\n got %v\nwant %q", err, tt.fails)
			}
		})
	}
}

// A length may be an int64, and an empty element belongs to the first bucket.
func TestBucketsOfEmptyElements(t *testing.T) {
	s := newScope(t)
	length := func(s *graph.Scope, args outs) out { return graph.Cast(s, size(s, args), tfbridge.Int64) }
	d := dataset.FromRows(s, [][]int32{{}, {7}}).BucketByLength("b", &dataset.Buckets{
		Length: length, Boundaries: []int64{0}, Sizes: []int64{1, 1},
	})
	if diff := cmp.Diff([]any{[][]int32{{}}, [][]int32{{7}}}, all(t, d)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
