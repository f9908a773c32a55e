package datapipeline

import (
	"context"
	"iter"
)

// Dataset yields sequences, epoch by epoch. One provider at a time reads it, from one
// goroutine.
type Dataset interface {
	// Name returns the purpose of the data, such as "train" or "dev".
	Name() string

	// Sequences yields the sequences of an epoch in the order of that epoch; epochs count
	// from 0. Ranging again starts from the beginning. A sequence is valid until the next
	// iteration. An error comes last; a sequence yielded with it is the one that failed. An
	// implementation that waits should stop when ctx is done.
	Sequences(ctx context.Context, epoch int64) iter.Seq2[*Sequence, error]

	// NumSeqs returns the number of sequences of an epoch, and whether that number is
	// certain. Otherwise it is an estimate, or 0 without one.
	NumSeqs() (n int64, certain bool)
}

// Sequence is one sequence of a dataset.
type Sequence struct {
	Tag string // names the sequence in messages and in the data
	// Data has a value for each key of the extern data: a *tfbridge.Tensor, which
	// the dataset closes, or a Go value for [tfbridge.NewTensor].
	Data map[string]any
}
