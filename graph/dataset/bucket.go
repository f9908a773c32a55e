package dataset

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Buckets say how [Dataset.BucketByLength] batches elements.
type Buckets struct {
	Length     func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output // the length of an element, a scalar of int32 or int64
	Boundaries []int64                                                      // ascending: the first length that is not in a bucket any more
	Sizes      []int64                                                      // of the batches of each bucket, and of those longer than all; one more than Boundaries

	Shapes     [][]int64         // to pad each component to, see [PaddedBatchOptions]
	Values     []tfbridge.Output // to pad each component with, see [PaddedBatchOptions]
	ToBoundary bool              // pad unknown dimensions to one less than the boundary of the bucket; longer elements are an error
	NoPadding  bool              // Batch in place of PaddedBatch; sparse and ragged parts need it
	Drop       bool              // leave out a last batch of each bucket of fewer elements
}

// BucketByLength batches elements of similar length. Batches come when they
// are full, at the end the rest in the order of the buckets. It wraps
// GroupByWindowDataset, PaddedBatchDatasetV2 and BatchDatasetV2.
func (d *Dataset) BucketByLength(name string, b *Buckets) *Dataset {
	d = d.orNone()
	if err := b.check(); err != nil {
		return d.fail("Dataset.BucketByLength", "%w", err)
	}
	return d.GroupByWindow(name, &Grouping{
		Key: func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			length := b.Length(s, args)
			if length.Op == nil {
				s.UpdateErr("Dataset.BucketByLength", millrace.Errorf(millrace.ErrModel, "Length gave no output"))
				return length
			}
			over := graph.GreaterEqual(s, graph.Cast(s, length, tfbridge.Int64), s.Const(b.Boundaries))
			return graph.Sum(s, graph.Cast(s, over, tfbridge.Int64), s.Const([]int32{0}))
		},
		Size: func(s *graph.Scope, key tfbridge.Output) tfbridge.Output {
			return graph.GatherV2(s, s.Const(b.Sizes), key, 0)
		},
		Reduce: func(s *graph.Scope, key tfbridge.Output, window *Dataset) *Dataset {
			size := graph.GatherV2(s, s.Const(b.Sizes), key, 0)
			if b.NoPadding {
				return window.BatchOutput(size, b.Drop)
			}
			return window.bucket(b, key, size)
		},
	})
}

// bucket pads a window of one bucket.
func (d *Dataset) bucket(b *Buckets, key, size tfbridge.Output) *Dataset {
	s := d.scope
	o := &PaddedBatchOptions{Shapes: b.Shapes, Values: b.Values, Drop: b.Drop, Size: size}
	if b.ToBoundary {
		inside := graph.Less(s, key, s.Const(int64(len(b.Boundaries))))
		check := graph.Assert(s, inside, []tfbridge.Output{s.Const("an element is as long as the last boundary or longer")}, nil)
		boundary := graph.GatherV2(s, s.Const(b.Boundaries), graph.Identity(s.WithControlDependencies(check), key), 0)
		o.fill = graph.Sub(s, boundary, s.Const(int64(1)))
	}
	return d.PaddedBatch(slices.Max(b.Sizes), o)
}

// check reports buckets that cannot be.
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
	case b.NoPadding && (b.ToBoundary || b.Shapes != nil || b.Values != nil):
		return millrace.Errorf(millrace.ErrModel, "padding that NoPadding leaves out")
	}
	return nil
}
