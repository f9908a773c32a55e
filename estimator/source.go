package estimator

import (
	"context"

	"millrace/graph"
	"millrace/graph/steps"
)

// Source feeds a model: it adds operations to the model's graph that give a
// batch for each step. The loaders and the checked plans of package loaders are
// sources.
type Source interface {
	// Pipeline adds the source to the graph of s. The operations stay in the
	// graph until the model is closed. The pipeline has a tensor for each input
	// of the signature, under the input's name, and for each name in
	// JoinOptions.Keep.
	Pipeline(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error)
}

// Batch is the result of one step: tensors by name; see [steps.Batch].
type Batch = steps.Batch

// sourceFunc makes a function a [Source].
type sourceFunc func(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error)

// Pipeline calls the function.
func (f sourceFunc) Pipeline(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	return f(ctx, s)
}
