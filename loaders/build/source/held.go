package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// # How a run with buckets is resumed
//
// The question: buckets hold records. tf.data saves these records, and a run cannot
// continue without them. They may be as large as the data.
//
// What was tried: to save the position of the oldest record that a bucket holds, and to
// read on from there. A bucket of a rare length may hold a record for epochs.
//
// The answer: a record has a position in the order of the plan, and can be read again
// by it. So a batch carries the positions of its records, and a state is the position
// of the next record, with the positions of the records that were read and are in no
// batch yet. To continue, these come first, in their order, and then the records from
// the position on:
//
//	order      0 1 2 3 4 5 6 7 8 9 ...
//	batches    [0 2 3] [4 5 7]          1 and 6 are in buckets
//	resumed    1 6 | 8 9 ...
//
// No bucket is full before record 8: the buckets are as they were. A bucket gives a
// batch when its last record comes, so the position behind the batches so far is the
// one behind the greatest of their positions. At the end of the data the batches hold
// the remaining records, and the same is true: the records after that position fill no
// bucket.

// FirstPosition returns the position of the first record after the held ones; unset if
// records have no positions.
func (r *Records) FirstPosition() tfbridge.Output {
	if !r.HoldsPositions() {
		return tfbridge.Output{}
	}
	return r.Skip
}

// Position returns the position of an element of [Records.Stream] in the order of the
// plan.
func (r *Records) Position(s *graph.Scope, element tfbridge.Output) tfbridge.Output {
	held := graph.Cast(s, graph.Size(s, r.Held), tfbridge.Int64)
	next := graph.ExpandDims(s, r.Skip, 0)
	begin := graph.GatherV2(s, graph.ConcatV2(s, []tfbridge.Output{r.Held, next}, 0), graph.Minimum(s, element, held), 0)
	return graph.Add(s, begin, graph.Maximum(s, graph.Sub(s, element, held), s.Const(int64(0))))
}

// afterHeld yields the records that buckets hold where a run begins, and then those
// from record r.Skip on.
func (r *Records) afterHeld() *dataset.Dataset {
	held := dataset.FromSlices(r.Scope, r.Held)
	switch {
	case r.ByPosition:
		records := ReadNumbers(held.BatchOutput(r.Group, false), "read_held", feed.Positions(r.Feed()), StringVector).Unbatch()
		return records.Concatenate(r.byPosition())
	case r.Shuffling == nil:
		return r.joinedAfterHeld()
	}
	epochs := held.Map("epoch", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.FloorDiv(s, args[0], r.Size(s))}
	}, target.Inline())
	return r.read(epochs.Unique().FlatMap("held_of_epoch", r.heldNumbers)).Concatenate(r.From(r.shuffledPass, r.resumedRecords))
}

// joinedAfterHeld is afterHeld for records in the order of the files: their numbers
// follow from their positions. It does not use [Records.From], because each function of
// a dataset delays the start of a run by a millisecond.
func (r *Records) joinedAfterHeld() *dataset.Dataset {
	s := r.Scope
	size, one := r.Size(s), s.Const(int64(1))
	behind := graph.FloorMod(s, r.Skip, size)
	begun := graph.Minimum(s, behind, one) // 1 within an epoch, else 0
	numbers := dataset.FromSlices(s, graph.FloorMod(s, r.Held, size)).Concatenate(dataset.RangeOutput(s, behind, graph.Mul(s, size, begun)))
	whole := dataset.RangeOutput(s, graph.Add(s, graph.FloorDiv(s, r.Skip, size), begun), s.Const(r.End()))
	return r.read(numbers).Concatenate(whole.FlatMap("epoch", func(s *graph.Scope, _ []tfbridge.Output) *dataset.Dataset { return r.Joined(s) }))
}

// heldNumbers yields the numbers of the records of an epoch that buckets hold.
func (r *Records) heldNumbers(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
	epoch := args[0]
	first := graph.Mul(s, epoch, r.Size(s))
	d := r.ShuffledNumbers(s, epoch, s.Const(int64(0))).Enumerate(0)
	d = d.Filter("is_held", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.ReduceAny(s, graph.Equal(s, r.Held, graph.Add(s, args[0], first)))
	})
	return d.Map("number", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output { return args[1:] }, target.Inline())
}

// read reads the records with some numbers.
func (r *Records) read(numbers *dataset.Dataset) *dataset.Dataset {
	return ReadNumbers(numbers.BatchOutput(r.Group, false), "read_numbers", feed.Numbers(r.Feed()), StringVector).Unbatch()
}
