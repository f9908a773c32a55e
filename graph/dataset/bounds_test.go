package dataset_test

import (
	"errors"
	"math"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// bounds are the smallest and the largest valid size; a high of math.MaxInt64 means no
// upper bound.
type bounds struct {
	name      string
	low, high int64
	build     func(d *dataset.Dataset, n int64)
}

// sizes lists the bounds of each method that takes a size. The datasets have elements of
// one int64.
var sizes = []bounds{
	{"Batch", 1, math.MaxInt32, func(d *dataset.Dataset, n int64) { d.Batch(n, false) }},
	{"Batch that drops", 1, 1e8, func(d *dataset.Dataset, n int64) { d.Batch(n, true) }},
	{"BatchParallel", 1, math.MaxInt32, func(d *dataset.Dataset, n int64) { d.BatchParallel(n, false, 2) }},
	{"BatchParallel that drops", 1, 1e8, func(d *dataset.Dataset, n int64) { d.BatchParallel(n, true, 2) }},
	{"BatchParallel, calls", dataset.Autotune, 1000, func(d *dataset.Dataset, n int64) { d.BatchParallel(2, true, n) }},
	{"Rebatch", 1, math.MaxInt64, func(d *dataset.Dataset, n int64) { d.Batch(2, false).Rebatch(n, false) }},
	{"SparseBatch", 1, 1e8, func(d *dataset.Dataset, n int64) { d.Batch(2, false).SparseBatch(n, []int64{-1}) }},
	{"PaddedBatch", 1, 1e8, func(d *dataset.Dataset, n int64) { d.PaddedBatch(n, nil) }},
	{"PaddedBatch, dimension", 2, 1 << 31, func(d *dataset.Dataset, n int64) { d.Batch(2, true).PaddedBatch(1, to(n)) }},
	{"PaddedBatch, longest", -1, 1 << 31, func(d *dataset.Dataset, n int64) { d.Batch(2, false).PaddedBatch(1, to(n)) }},
	{"PaddedBatch, bytes of numbers", 1, 1 << 6, func(d *dataset.Dataset, n int64) { d.Batch(2, true).PaddedBatch(n, to(1<<31)) }},
	{"PaddedBatch, strings", 1, 1 << 9, func(d *dataset.Dataset, n int64) { texts(d).PaddedBatch(n, to(1<<31)) }},
	{"Shuffle", 1, 1e8, func(d *dataset.Dataset, n int64) { d.Shuffle(n, nil) }},
	{"ShuffleOutput", 1, 1e8, func(d *dataset.Dataset, n int64) {
		d.ShuffleOutput(n, d.Scope().Const(int64(1)), d.Scope().Const(int64(2)))
	}},
	{"Map", dataset.Autotune, 1000, func(d *dataset.Dataset, n int64) { d.Map("f", double, &dataset.MapOptions{Parallel: n}) }},
	{"Interleave, cycle", 0, 1000, func(d *dataset.Dataset, n int64) { interleave(d, &dataset.InterleaveOptions{CycleLength: n}) }},
	{"Interleave, block", 0, math.MaxInt64, func(d *dataset.Dataset, n int64) { interleave(d, &dataset.InterleaveOptions{BlockLength: n}) }},
	{"Interleave, parallel", dataset.Autotune, 1000, func(d *dataset.Dataset, n int64) { interleave(d, &dataset.InterleaveOptions{Parallel: n}) }},
	{"Snapshot, shards", 0, 1000, func(d *dataset.Dataset, n int64) { d.Snapshot("x", &dataset.SnapshotOptions{Shards: n}) }},
	{"ParseExample", dataset.Autotune, 1000, func(d *dataset.Dataset, n int64) {
		id := graph.DenseFeature{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
		texts(d).ParseExample(&graph.ExampleFeatures{Dense: []graph.DenseFeature{id}}, &dataset.ParseExampleOptions{Parallel: n})
	}},
	{"TextLines, buffer", 0, 1 << 33, func(d *dataset.Dataset, n int64) {
		dataset.TextLines(d.Scope(), d.Scope().Const("x"), &dataset.TextLinesOptions{BufferBytes: n})
	}},
	{"TFRecords, buffer", 0, 1 << 33, func(d *dataset.Dataset, n int64) {
		dataset.TFRecords(d.Scope(), d.Scope().Const("x"), &dataset.TFRecordsOptions{BufferBytes: n})
	}},
	{"FixedLengthRecords", 1, 1 << 33, func(d *dataset.Dataset, n int64) { fixed(d, n, nil) }},
	{"FixedLengthRecords, buffer", 0, 1 << 33, func(d *dataset.Dataset, n int64) {
		fixed(d, 1, &dataset.FixedLengthRecordsOptions{BufferBytes: n})
	}},
	{"FixedLengthRecords, header", 0, math.MaxInt64, func(d *dataset.Dataset, n int64) {
		fixed(d, 1, &dataset.FixedLengthRecordsOptions{HeaderBytes: n})
	}},
	{"FixedLengthRecords, footer", 0, math.MaxInt64, func(d *dataset.Dataset, n int64) {
		fixed(d, 1, &dataset.FixedLengthRecordsOptions{FooterBytes: n})
	}},
	{"CPUBudget", 0, 1000, func(d *dataset.Dataset, n int64) { d.WithOptions(&dataset.Options{CPUBudget: int32(n)}) }},
	{"RAMBudget", 0, math.MaxInt64, func(d *dataset.Dataset, n int64) { d.WithOptions(&dataset.Options{RAMBudget: n}) }},
	{"Parallelism", 0, 1000, func(d *dataset.Dataset, n int64) { d.WithOptions(&dataset.Options{Parallelism: n}) }},
	{"MinParallelism", 0, 1000, func(d *dataset.Dataset, n int64) { d.WithOptions(&dataset.Options{MinParallelism: n}) }},
	{"PrivateThreads", 0, 1000, func(d *dataset.Dataset, n int64) { d.WithOptions(&dataset.Options{PrivateThreads: int32(n)}) }},
	{"IntraOpThreads", 0, 1000, func(d *dataset.Dataset, n int64) { d.WithOptions(&dataset.Options{IntraOpThreads: int32(n)}) }},
}

// to returns options that pad one component of one dimension to n.
func to(n int64) *dataset.PaddedBatchOptions {
	return &dataset.PaddedBatchOptions{Shapes: [][]int64{{n}}}
}

// texts returns a dataset with elements of one vector of strings.
func texts(d *dataset.Dataset) *dataset.Dataset {
	return d.Map("text", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.ExpandDims(s, graph.AsString(s, args[0]), 0)}
	}, nil)
}

func interleave(d *dataset.Dataset, o *dataset.InterleaveOptions) {
	d.Interleave("f", func(s *graph.Scope, _ []tfbridge.Output) *dataset.Dataset { return dataset.Range(s, 0, 1, 1) }, o)
}

func fixed(d *dataset.Dataset, n int64, o *dataset.FixedLengthRecordsOptions) {
	dataset.FixedLengthRecords(d.Scope(), d.Scope().Const("x"), n, o)
}

// Each method accepts the sizes at its bounds, and refuses the next smaller and larger
// ones.
func TestBounds(t *testing.T) {
	for _, b := range sizes {
		t.Run(b.name, func(t *testing.T) {
			built := func(n int64) error {
				s := newScope(t)
				b.build(dataset.Range(s, 0, 3, 1), n)
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
