package run

import (
	"sync/atomic"

	"millrace/loaders/build"
)

// Pipeline runs a plan's operations in a graph.
type Pipeline struct {
	*build.Parts
	GroupSize      int64                         // records parsed at once
	retryGroupSize int64                         // likewise, after a failure
	reading        atomic.Bool                   // a Run is being ranged over
	ended          atomic.Pointer[chan struct{}] // closed when the producer of the last Run has ended
}

// NewPipeline returns a pipeline that runs operations that [build.Build] made.
func NewPipeline(parts *build.Parts) *Pipeline {
	return &Pipeline{Parts: parts, GroupSize: parts.Plan.GroupSize(parts.Scan), retryGroupSize: parts.Plan.RetryGroupSize()}
}
