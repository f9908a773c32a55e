package run

import (
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
	dataDigest func() string                  // of the records, computed once; for a plan that seeks

	epochExamples int64 // of each epoch; for a plan that seeks
}
