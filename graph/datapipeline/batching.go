package datapipeline

import (
	"millrace"
)

// Batching says how chunks, or whole sequences, are put together to batches. Rows
// join a batch in their order until one does not fit.
type Batching struct {
	// BatchSize is the budget of frames: for each key with a time axis, the longest
	// row of a batch times the number of its rows is at most so much, context and
	// padding counted. A row that exceeds it alone is a batch of its own.
	BatchSize int
	MaxSeqs   int // the most rows of a batch; 0: no limit
}

// check returns what is wrong with the batching.
func (b *Batching) check() error {
	if b.BatchSize < 1 {
		return millrace.Errorf(millrace.ErrModel, "the batch size is %d frames, must be at least 1", b.BatchSize)
	}
	if b.MaxSeqs < 0 {
		return millrace.Errorf(millrace.ErrModel, "the most rows of a batch are %d, must not be negative", b.MaxSeqs)
	}
	return nil
}

// fits reports whether so many rows, of which the longest has so many frames for the
// key that has most, are within the budget. One row always is.
func (b *Batching) fits(rows, longest int) bool { return rows <= 1 || rows*longest <= b.BatchSize }

// openBatch counts the rows of a batch that is being put together.
type openBatch struct {
	*Batching
	rows, longest int
}

// fits reports whether another row, of so many frames for the key that has most, may
// join.
func (b *openBatch) fits(length int) bool {
	return b.Batching.fits(b.rows+1, max(b.longest, length))
}

// add adds a row that fits.
func (b *openBatch) add(length int) { b.rows, b.longest = b.rows+1, max(b.longest, length) }

// full reports whether no row may join, however short it is.
func (b *openBatch) full() bool { return b.rows == b.MaxSeqs || !b.fits(0) }

// clear begins the next batch.
func (b *openBatch) clear() { b.rows, b.longest = 0, 0 }
