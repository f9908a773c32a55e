// Package chunked builds the stages of loaders whose rows are chunks of sequences, or
// whole sequences.
//
// # How rows of sequences are made
//
// The question: a batch is a tensor of rows, most of them parts of sequences of any
// length, and how many rows it has depends on how long they are. tf.data's own way is
// an element for each row and a padded batch of a fixed number of them. tf.data can
// also group by a budget, but loses the order.
//
// The answer: sequences travel in groups, as columns (see column), until rows
// are batched. Cutting a row takes two numbers, and no frame is copied before
// its batch is made.
//
//		records ── shuffle ── groups ── parse, secondaries, steps ── rows ── batches
//		           sequences            columns of whole sequences
//
//	 1. orderedRecords yields the serialized records of an epoch in its order,
//	    each with its number in that order.
//	 2. They are shuffled, if at all, before they are parsed: the order is the
//	    same, and the buffer holds no tensors.
//	 3. A group of them is parsed at once, and goes through secondaries and steps
//	    as a batch of ragged rows does.
//	 4. Millrace's own operation cuts the groups and batches the rows. Without its
//	    library TensorFlow's operations do it, and Go says where to cut
//	    (chunked_plain.go). Where rows are shuffled, each becomes an element in
//	    between.
//
// Where records are read as the files have them and their tensors are what they store,
// a fifth way does all of this in one operation ([engine.Choice.CutsFiles]). Several
// threads read and check records, and every frame is copied once, from the read buffer
// to its batch. The result is the same.
//
// An epoch is a separate dataset, whose end ends the last batch.
package chunked

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// Builder builds the batches of rows of sequences.
type Builder struct {
	source.Epochs
	groups *groups
}

// New returns a Builder of the rows of t.
func New(t *target.Target) *Builder {
	return &Builder{source.Epochs{Target: t}, &groups{source.Epochs{Target: t}, newLayout(t), source.New(t), parse.New(t), process.New(t)}}
}

// Batches builds the batches of all epochs.
func (b *Builder) Batches() *dataset.Dataset {
	if b.Engine.Replays() {
		return b.Replayed(b.pass)
	}
	return b.All(b.pass)
}

// Probe builds the batches of the first epoch. Whether other parts of the data, which
// later epochs take, have batches is known without a probe.
func (b *Builder) Probe() *dataset.Dataset { return b.pass(b.Scope, b.Scope.Const(int64(0))) }

// pass builds the batches of one epoch.
func (b *Builder) pass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	if b.Engine.Native().Applied {
		return (&nativeRows{b.groups}).pass(s, epoch)
	}
	return (&plainRows{b.groups}).pass(s, epoch)
}
