package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// # How a run with buckets is resumed
//
// The question: buckets hold records back. tf.data saves these records, and a run cannot
// go on without them. They are as large as the data are.
//
// What was tried: to save the position of the oldest record that a bucket holds, and to
// read on from there. A bucket of a rare length may hold a record for epochs.
//
// The answer: a record has a position in the order of the plan, and can be read again by
// it. So a batch takes the positions of its records along, and a state is the position of
// the next record with those of the records that were read and are in no batch yet. To go
// on, these come first, in their order, and then the records from the position on:
//
//	order      0 1 2 3 4 5 6 7 8 9 ...
//	batches    [0 2 3] [4 5 7]          1 and 6 are in buckets
//	resumed    1 6 | 8 9 ...
//
// No bucket is full before record 8: the buckets are as they were. A bucket gives a batch
// when its last record comes, so the position behind the batches so far is the one behind
// the greatest of their positions. At the end of the data the batches hold what is left,
// and the same is true: what comes behind that position fills no bucket.

// firstPosition returns where the first record is that no bucket holds; unset where
// records have no positions.
func (b *builder) firstPosition() tfbridge.Output {
	if !b.plan.Engine().HoldsPositions() {
		return tfbridge.Output{}
	}
	return b.skip
}

// position returns where an element of [builder.records] is in the order of the plan.
func (b *builder) position(s *graph.Scope, element tfbridge.Output) tfbridge.Output {
	held := graph.Cast(s, graph.Size(s, b.held), tfbridge.Int64)
	next := graph.ExpandDims(s, b.skip, 0)
	begin := graph.GatherV2(s, graph.ConcatV2(s, []tfbridge.Output{b.held, next}, 0), graph.Minimum(s, element, held), 0)
	return graph.Add(s, begin, graph.Maximum(s, graph.Sub(s, element, held), s.Const(int64(0))))
}

// recordsBehindHeld yields the records that buckets hold where a run begins, and then those
// from record b.skip on.
func (b *builder) recordsBehindHeld() *dataset.Dataset {
	held := dataset.FromSlices(b.scope, b.held)
	switch {
	case b.plan.Records != nil:
		records := b.readNumbers(held.BatchOutput(b.group, false), "read_held", b.source().Positions(), stringVector).Unbatch()
		return records.Concatenate(b.recordsByPlace())
	case b.plan.Shuffle == nil:
		return b.joinedBehindHeld()
	}
	epochs := held.Map("epoch", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.FloorDiv(s, args[0], b.epochSize(s))}
	}, inline)
	return b.read(epochs.Unique().FlatMap("held_of_epoch", b.heldNumbers)).Concatenate(b.epochsFrom(b.shuffledPass, b.resumedRecords))
}

// joinedBehindHeld is recordsBehindHeld for records in the order of the files: their
// numbers follow from their positions. It does without [builder.epochsFrom], because
// each function of a dataset costs the start of a run a millisecond.
func (b *builder) joinedBehindHeld() *dataset.Dataset {
	s := b.scope
	size, one := b.epochSize(s), s.Const(int64(1))
	behind := graph.FloorMod(s, b.skip, size)
	begun := graph.Minimum(s, behind, one) // 1 within an epoch, else 0
	numbers := dataset.FromSlices(s, graph.FloorMod(s, b.held, size)).Concatenate(dataset.RangeOutput(s, behind, graph.Mul(s, size, begun)))
	whole := dataset.RangeOutput(s, graph.Add(s, graph.FloorDiv(s, b.skip, size), begun), s.Const(b.endOfEpochs()))
	return b.read(numbers).Concatenate(whole.FlatMap("epoch", func(s *graph.Scope, _ []tfbridge.Output) *dataset.Dataset { return b.joined(s) }))
}

// heldNumbers yields the numbers of the records of an epoch that buckets hold.
func (b *builder) heldNumbers(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
	epoch := args[0]
	first := graph.Mul(s, epoch, b.epochSize(s))
	d := b.shuffledNumbers(s, epoch, s.Const(int64(0))).Enumerate(0)
	d = d.Filter("is_held", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.ReduceAny(s, graph.Equal(s, b.held, graph.Add(s, args[0], first)))
	})
	return d.Map("number", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output { return args[1:] }, inline)
}

// read reads the records with some numbers.
func (b *builder) read(numbers *dataset.Dataset) *dataset.Dataset {
	return b.readNumbers(numbers.BatchOutput(b.group, false), "read_numbers", b.source().Numbers(), stringVector).Unbatch()
}
