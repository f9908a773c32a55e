package native

import (
	"maps"
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// BucketOptions are the options of [BucketSequences].
type BucketOptions struct {
	Of         int     // the feature of the Sequence, a list, whose length determines the bucket of a record
	Boundaries []int64 // ascending: the greatest length of each bucket but the last, which is unbounded
	Sizes      []int64 // batch size of each bucket, one more than Boundaries
	Drop       bool    // drop the last batch of each bucket if it has fewer records

	// Positions adds a last component to each batch: an int64 vector with the positions
	// of its records in their order. The first records of the dataset are at the
	// positions Held, an int64 vector. The record after them is at Next, an int64
	// scalar, and each further one at the next position. Unset: Held is empty, and Next
	// is 0.
	Positions  bool
	Held, Next tfbridge.Output

	DecodeOptions
}

// BucketSequences batches the serialized records with lists that d yields with records
// of similar length. It yields a batch as soon as it is full, and at the end the
// remaining records in the order of the buckets. It combines
// [dataset.Dataset.BucketByLength] and [ParseSequences]. After a failure every further
// element is the same failure.
func BucketSequences(d *dataset.Dataset, q *Sequence, o *BucketOptions) *dataset.Dataset {
	const op = "MillraceBucketBatchDataset"
	s := d.Scope()
	if err := o.check(q); err != nil {
		s.UpdateErr(op, err)
		return none(s)
	}
	for _, size := range o.Sizes {
		limit.Between(1, math.MaxInt64).Check(s, op+": batch size", size)
	}
	rows := int64(-1)
	if o.Drop && slices.Min(o.Sizes) == slices.Max(o.Sizes) {
		rows = o.Sizes[0]
	}
	specs, all, fills := q.attrs(s, op, rows)
	if s.Err() != nil {
		return none(s)
	}
	if o.Positions {
		specs = append(specs, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)})
	}
	maps.Copy(all, o.DecodeOptions.attrs())
	all["length_of"], all["positions"] = int64(o.Of), o.Positions
	held, next := o.Held, o.Next
	if held.Op == nil {
		held = s.Const([]int64{})
	}
	if next.Op == nil {
		next = s.Const(int64(0))
	}
	return add(s, op, specs, all, d.Variant(), s.Const(o.Boundaries), s.Const(o.Sizes), s.Const(o.Drop), held, next, o.files(s), fills)
}

// check returns an error for invalid options.
func (o *BucketOptions) check(q *Sequence) error {
	switch {
	case o == nil || q == nil:
		return millrace.Errorf(millrace.ErrModel, "the BucketOptions or the Sequence are nil")
	case o.Of < 0 || o.Of >= len(q.Features) || !q.Features[o.Of].List:
		return millrace.Errorf(millrace.ErrModel, "feature %d is no list whose length could tell the bucket", o.Of)
	case len(o.Boundaries) == 0 || len(o.Sizes) != len(o.Boundaries)+1 || !slices.IsSorted(o.Boundaries):
		return millrace.Errorf(millrace.ErrModel, "boundaries %v must be ascending, at least one, and sizes %v of one bucket more", o.Boundaries, o.Sizes)
	}
	return nil
}
