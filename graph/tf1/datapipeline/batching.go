package datapipeline

import (
	"millrace"
)

// Batching describes how chunks, or whole sequences, become batches. Rows join a batch in
// their order until one does not fit.
type Batching struct {
	// BatchSize is the budget of frames. For each key with a time axis, the length of the
	// longest row times the number of rows is at most BatchSize, including context and
	// padding. A row longer than BatchSize is a batch by itself.
	BatchSize int
	MaxSeqs   int // maximum number of rows in a batch; 0: no limit
}

// check returns an error if the batching is invalid.
func (b *Batching) check() error {
	if b.BatchSize < 1 {
		return millrace.Errorf(millrace.ErrModel, "the batch size is %d frames, must be at least 1", b.BatchSize)
	}
	if b.MaxSeqs < 0 {
		return millrace.Errorf(millrace.ErrModel, "the most rows of a batch are %d, must not be negative", b.MaxSeqs)
	}
	return nil
}

// fits reports whether a batch of the given number of rows is within the budget. longest is
// the number of frames of its longest row, for the key with the most frames. One row always
// fits.
func (b *Batching) fits(rows, longest int) bool { return rows <= 1 || rows*longest <= b.BatchSize }

// openBatch counts the rows of a batch under construction.
type openBatch struct {
	*Batching
	rows, longest int
}

// fits reports whether another row may join. length is its number of frames, for the key
// with the most frames.
func (b *openBatch) fits(length int) bool {
	return b.Batching.fits(b.rows+1, max(b.longest, length))
}

// add adds a row that fits.
func (b *openBatch) add(length int) { b.rows, b.longest = b.rows+1, max(b.longest, length) }

// full reports whether no further row may join, not even one without frames.
func (b *openBatch) full() bool { return b.rows == b.MaxSeqs || !b.fits(0) }

// clear begins the next batch.
func (b *openBatch) clear() { b.rows, b.longest = 0, 0 }
