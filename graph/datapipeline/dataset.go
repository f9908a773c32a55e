package datapipeline

import (
	"context"
	"iter"
)

// Dataset gives sequences, epoch by epoch. One provider at a time reads it, from one
// goroutine.
type Dataset interface {
	// Name says what the data is for, such as "train" or "dev".
	Name() string

	// Sequences yields the sequences of an epoch, counted from 0, in the order of
	// that epoch. Ranging again starts anew. A sequence is valid until the next
	// iteration. An error comes last; a sequence beside it says where it arose.
	// A sequence that waits should stop when ctx is done.
	Sequences(ctx context.Context, epoch int64) iter.Seq2[*Sequence, error]

	// NumSeqs returns the number of sequences of an epoch, and whether that is
	// certain. A number that is not certain is an estimate, 0 if there is none.
	NumSeqs() (n int64, certain bool)
}

// Sequence is one sequence of a dataset.
type Sequence struct {
	Tag string // names the sequence in messages and in the data
	// Data has a value for each key of the extern data: a *tfbridge.Tensor, which
	// the dataset closes, or a Go value for [tfbridge.NewTensor].
	Data map[string]any
}
