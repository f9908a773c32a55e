package estimator

import (
	"context"

	"millrace/graph"
	"millrace/graph/steps"
)

// Source is what feeds a model: something that can stand in the model's graph
// and hand out a batch for each step. The loaders of package loaders are
// sources, checked plans too.
type Source interface {
	// Pipeline adds the source to the graph of s. What it adds stays in the
	// graph until the model is closed. The names of the pipeline's tensors are
	// those of the signature's inputs, and of what is to be kept beside the
	// outputs.
	Pipeline(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error)
}

// Batch is what one step gave: tensors by name; see [steps.Batch].
type Batch = steps.Batch

// sourceFunc is a source that is a function.
type sourceFunc func(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error)

// Pipeline calls the function.
func (f sourceFunc) Pipeline(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	return f(ctx, s)
}
