package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// # How rows of sequences are made
//
// The question: a batch is a tensor of rows, most of them parts of sequences of
// any length, and how many rows it has depends on how long they are. tf.data's
// own way is an element for each row and a padded batch of a fixed number of
// them. Grouping by a budget is a function of tf.data too, but one that gives up
// the order.
//
// The answer: sequences travel in groups, as columns (see column), until rows
// are batched. Cutting a row takes two numbers, and no frame is copied before
// its batch is made.
//
//	records ── shuffle ── groups ── parse, secondaries, steps ── rows ── batches
//	           sequences            columns of whole sequences
//
//  1. orderedRecords yields the serialized records of an epoch in its order,
//     each with its number in that order.
//  2. They are shuffled, if at all, before they are parsed: the order is the
//     same, and the buffer holds no tensors.
//  3. A group of them is parsed at once, and goes through secondaries and steps
//     as a batch of ragged rows does.
//  4. Millrace's own operation cuts the groups and batches the rows. Without its
//     library TensorFlow's operations do it, and Go says where to cut
//     (chunked_plain.go). Where rows are shuffled, each becomes an element in
//     between.
//
// Where records are read as the files have them and their tensors are what they
// store, a fifth way does all of this in one operation ([engine.Choice.CutsFiles]).
// Several threads read and check records, and every frame is copied once, from
// what was read of the file to its batch. What the operation yields is the same.
//
// An epoch is a dataset of its own, whose end ends the last batch.

// chunked builds loaders whose rows are chunks of records, or whole ones.
type chunked struct{}

// batches builds the batches of all epochs.
func (chunked) batches(shared *builder) *dataset.Dataset {
	b := newChunkBuilder(shared)
	if b.plan.Engine().Replays() {
		return b.replayedEpochs(b.pass)
	}
	return b.epochs(b.pass)
}

// probe builds the batches of the first epoch: what there is in parts of the
// data that later epochs take is known without it.
func (chunked) probe(shared *builder) *dataset.Dataset {
	b := newChunkBuilder(shared)
	return b.pass(b.scope, b.scope.Const(int64(0)))
}

// chunkBuilder is a builder of rows of sequences.
type chunkBuilder struct {
	*builder
	columns []chunkColumn
}

func newChunkBuilder(b *builder) *chunkBuilder {
	return &chunkBuilder{b, chunkColumns(b.plan)}
}

// pass builds the batches of one epoch.
func (b *chunkBuilder) pass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	if b.plan.Engine().Native().Applied {
		return b.nativeRows(s, epoch)
	}
	return b.plainRows(b.sequences(s, epoch), epoch)
}

// sequences builds the groups of one epoch.
func (b *chunkBuilder) sequences(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	d := b.orderedRecords(s, epoch)
	if n := b.plan.Chunks.ShuffleSeqs; n > 1 {
		d = b.shuffle(d, n, streamRecords, epoch)
	}
	return d.BatchOutput(b.group, false).Map("sequences", b.groupColumns, b.mapOptions())
}
