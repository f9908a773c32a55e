package run

import (
	"sync/atomic"

	"millrace/graph/steps"
	"millrace/loaders/build"
	"millrace/loaders/plan"
)

// Pipeline runs a plan's operations in a graph.
type Pipeline struct {
	*build.Parts
	GroupSize      int64           // records parsed at once
	retryGroupSize int64           // records parsed at once after a failure
	steps          *steps.Pipeline // the same for [steps.Pipeline.Run]

	identity   func() (*plan.Identity, error) // computed once
	dataDigest func() string                  // digest of the records, computed once; used by plans that seek

	epochExamples int64 // examples of each epoch; used by plans that seek
	epochRows     int64 // rows of each epoch, dropped ones included, where batches end with their epochs; 0 if that is not known

	filtered atomic.Int64 // examples that filters did not keep, in the run so far
}

// Filtered returns how many examples filters have not kept in the run so far, with those before
// the state from which it started: up to the last row that it delivered, and at the end of the
// data in all. It may be called during a run. Where nobody counts them it is 0 until the end:
// with buckets, with windows of drawn sizes and with sloppy_interleave.
func (pl *Pipeline) Filtered() int64 { return pl.filtered.Load() }
