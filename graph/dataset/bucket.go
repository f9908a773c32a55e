package dataset

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Buckets are the arguments of [Dataset.BucketByLength].
//
// A boundary is the greatest length of its bucket: boundaries 3 and 6 make
// buckets of the lengths up to 3, 4 to 6, and from 7. In Python's
// bucket_by_sequence_length a boundary is the first length of the next bucket,
// so its [4, 7] is 3 and 6 here.
type Buckets struct {
	Length     func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output // the length of an element, a scalar of int32 or int64
	Boundaries []int64                                                      // ascending: the greatest length of each bucket but the last, which has no end
	Sizes      []int64                                                      // of the batches of each bucket, one more than Boundaries

	Shapes     [][]int64         // to pad each component to, see [PaddedBatchOptions]
	Values     []tfbridge.Output // to pad each component with, see [PaddedBatchOptions]
	ToBoundary bool              // pad unknown dimensions to the boundary of the bucket; elements longer than the last one are an error
	NoPadding  bool              // Batch in place of PaddedBatch; sparse and ragged parts need it
	Drop       bool              // leave out a last batch of each bucket of fewer elements

	// Batch makes the batches of a bucket instead: window has the bucket's
	// elements, at most size of them. The fields for padding and Drop must not
	// be set.
	Batch func(window *Dataset, size tfbridge.Output) *Dataset
}

// BucketByLength batches elements of similar length. It yields a batch as soon as it is
// full, and at the end the rest in the order of the buckets. It wraps
// GroupByWindowDataset, PaddedBatchDatasetV2 and BatchDatasetV2.
func (d *Dataset) BucketByLength(name string, b *Buckets) *Dataset {
	d = d.orNone()
	if err := b.check(); err != nil {
		return d.fail("Dataset.BucketByLength", "%w", err)
	}
	return d.GroupByWindow(name, &Grouping{
		Key: b.key,
		Size: func(s *graph.Scope, key tfbridge.Output) tfbridge.Output {
			return graph.GatherV2(s, s.Const(b.Sizes), key, 0)
		},
		Reduce: func(s *graph.Scope, key tfbridge.Output, window *Dataset) *Dataset {
			size := graph.GatherV2(s, s.Const(b.Sizes), key, 0)
			switch {
			case b.Batch != nil:
				return b.Batch(window, size)
			case b.NoPadding:
				return window.BatchOutput(size, b.Drop)
			}
			return window.bucket(b, key, size)
		},
	})
}

// key returns the number of an element's bucket: how many boundaries are less
// than its length.
func (b *Buckets) key(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
	length := b.Length(s, args)
	if length.Op == nil {
		s.UpdateErr("Dataset.BucketByLength", millrace.Errorf(millrace.ErrModel, "Length gave no output"))
		return length
	}
	longer := graph.Greater(s, graph.Cast(s, length, tfbridge.Int64), s.Const(b.Boundaries))
	return graph.ReduceSum(s, graph.Cast(s, longer, tfbridge.Int64))
}

// bucket pads a window of one bucket.
func (d *Dataset) bucket(b *Buckets, key, size tfbridge.Output) *Dataset {
	s := d.scope
	o := &PaddedBatchOptions{Shapes: b.Shapes, Values: b.Values, Drop: b.Drop, Size: size}
	if b.ToBoundary {
		inside := graph.Less(s, key, s.Const(int64(len(b.Boundaries))))
		check := graph.Assert(s, inside, []tfbridge.Output{s.Const("an element is longer than the last boundary")}, nil)
		o.fill = graph.GatherV2(s, s.Const(b.Boundaries), graph.Identity(s.WithControlDependencies(check), key), 0)
	}
	return d.PaddedBatch(slices.Max(b.Sizes), o)
}

// check returns an error for invalid buckets.
func (b *Buckets) check() error {
	switch {
	case b == nil || b.Length == nil:
		return millrace.Errorf(millrace.ErrModel, "there is no function Length")
	case len(b.Boundaries) == 0 || len(b.Sizes) != len(b.Boundaries)+1:
		return millrace.Errorf(millrace.ErrModel, "%d boundaries, at least 1 is needed, and %d sizes, one more is", len(b.Boundaries), len(b.Sizes))
	case !slices.IsSorted(b.Boundaries):
		return millrace.Errorf(millrace.ErrModel, "boundaries %v are not ascending", b.Boundaries)
	case slices.Min(b.Sizes) < 1:
		return millrace.Errorf(millrace.ErrModel, "sizes %v of batches, must be at least 1", b.Sizes)
	case b.NoPadding && b.pads():
		return millrace.Errorf(millrace.ErrModel, "padding that NoPadding leaves out")
	case b.Batch != nil && (b.pads() || b.NoPadding || b.Drop):
		return millrace.Errorf(millrace.ErrModel, "padding or Drop beside Batch, which makes the batches")
	}
	return nil
}

// pads reports whether any field for padding is set.
func (b *Buckets) pads() bool { return b.ToBoundary || b.Shapes != nil || b.Values != nil }
