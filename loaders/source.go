package loaders

import (
	"context"

	"millrace/graph"
	"millrace/graph/steps"
)

// Source feeds the batches of a plan to a model of package estimator, as a
// [Loader] does, without a graph and a session of its own.
type Source struct {
	Plan *Plan
	Scan *Scan // of the plan, as [Prepare] gives it; nil: Pipeline scans
}

// Pipeline builds the plan into the graph of s.
func (c *Source) Pipeline(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	scan := c.Scan
	if scan == nil {
		var err error
		if scan, err = c.Plan.Scan(ctx); err != nil {
			return nil, err
		}
	}
	pipe, err := Build(s, c.Plan, scan)
	if err != nil {
		return nil, err
	}
	return pipe.Steps(), nil
}
