package dataset

import (
	"math"
	"slices"

	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// Rebatch cuts the elements, which are batches, into batches of n along their first
// dimension, across the borders of elements. Batches that lie inside one element are
// slices of it, not copies. The last batch may be smaller; drop drops it.
func (d *Dataset) Rebatch(n int64, drop bool) *Dataset {
	d = d.orNone()
	limit.Between(1, math.MaxInt64).Check(d.scope, "RebatchDatasetV2: batch size", n)
	d = d.sliceable("Dataset.Rebatch")
	rows, err := slicesOf(d.specs)
	if err != nil {
		d.scope.UpdateErr("RebatchDatasetV2", err)
	}
	return d.then("RebatchDatasetV2", d.batched(n, drop, rows), nil,
		d.scope.Const([]int64{n}), d.scope.Const(drop)).rebatchOf(d, n, drop)
}

// rebatchOf gives d the structure of batches of the rows of another dataset's
// elements.
func (d *Dataset) rebatchOf(batches *Dataset, n int64, drop bool) *Dataset {
	if d.scope.Err() != nil || batches.structure == nil {
		return d
	}
	rows, err := batches.structure.sliced()
	if err != nil {
		return d.fail("Dataset.Rebatch", "%w", err)
	}
	return d.batchOf(&Dataset{scope: d.scope, structure: rows}, n, drop)
}

// SkipOutput skips the first n elements; n is an int64 scalar of the graph, such as a
// placeholder.
func (d *Dataset) SkipOutput(n tfbridge.Output) *Dataset {
	d = d.orNone()
	return d.same("SkipDataset", nil, n)
}

// TakeOutput ends after the first n elements; n is an int64 scalar of the graph.
// It takes all where n is negative.
func (d *Dataset) TakeOutput(n tfbridge.Output) *Dataset {
	d = d.orNone()
	return d.same("TakeDataset", nil, n)
}

// BatchOutput is [Dataset.Batch] with a size, an int64 scalar, that is an output of the
// graph. The batch dimension is then unknown while building, and a size that Batch
// refuses is an error of code InvalidArgument at run time.
func (d *Dataset) BatchOutput(n tfbridge.Output, drop bool) *Dataset {
	d = d.orNone()
	return d.then("BatchDatasetV2", d.batched(-1, drop, d.specs), attrs{"parallel_copy": true},
		limit.AtMost(d.scope, "BatchOutput: size", n, limit.BatchSize(drop)), d.scope.Const(drop)).batchOf(d, -1, drop)
}

// BatchParallel is [Dataset.Batch] that copies up to parallel batches at a
// time; parallel may be [Autotune]. The order is kept. It wraps
// ParallelBatchDataset.
func (d *Dataset) BatchParallel(n int64, drop bool, parallel int64) *Dataset {
	d = d.orNone()
	limit.Between(1, limit.BatchSize(drop)).Check(d.scope, "Dataset.BatchParallel: size", n)
	limit.Between(Autotune, limit.Parallel).Check(d.scope, "Dataset.BatchParallel: parallel calls", parallel)
	if parallel == 0 || debugOf(d.scope) != nil {
		return d.Batch(n, drop)
	}
	return d.then("ParallelBatchDataset", d.batched(n, drop, d.specs),
		attrs{"parallel_copy": true, "deterministic": determinism(false)},
		d.scope.Const(n), d.scope.Const(parallel), d.scope.Const(drop)).batchOf(d, n, drop)
}

// PadToCardinality makes d a dataset of n elements: after d's own elements come zeros
// and empty strings. A scalar bool is appended to the components of each element: true
// if the element is d's. The shapes must be known. It is an error of code
// InvalidArgument if d has more elements.
//
// It wraps ZipDataset, ConcatenateDataset, TakeWhileDataset and others.
func (d *Dataset) PadToCardinality(n int64) *Dataset {
	const what = "Dataset.PadToCardinality"
	d = d.orNone()
	limit.Between(0, math.MaxInt64).Check(d.scope, what, n)
	zeros := make([]tfbridge.Output, len(d.specs))
	for i, p := range d.specs {
		dims, err := p.Shape.ToSlice()
		if err != nil || slices.Contains(dims, -1) || p.DType == tfbridge.Variant {
			return d.fail(what, "component %d is %v; its shape must be known", i, p)
		}
		zeros[i] = d.scope.Zeros(p.DType, dims...)
	}
	if d.scope.Err() != nil {
		return d
	}
	valid := func(is bool) *Dataset { return FromTensors(d.scope, d.scope.Const(is)).Repeat(-1) }
	own := Zip(d.scope, d, valid(true))
	rest := Zip(d.scope, FromTensors(d.scope, zeros...), valid(false)).Repeat(-1)
	return own.Concatenate(rest).Enumerate(0).TakeWhile("cardinality", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		within := graph.Less(s, args[0], s.Const(n))
		padding := graph.LogicalNot(s, args[len(args)-1])
		graph.Assert(s, graph.LogicalOr(s, within, padding),
			[]tfbridge.Output{s.Const("the dataset has more elements than it is to be padded to:"), s.Const(n)}, nil)
		return within
	}).Map("padded", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return args[1:]
	}, nil).AssertCardinality(d.scope.Const(n)).as(own.Spec())
}
