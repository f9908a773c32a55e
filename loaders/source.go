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

	pipe *Pipeline // that was built last
}

// LeftOut returns how many bad records the run of the source has left out so far, those
// before the state that it began with among them. A record counts once. It is 0 before
// Pipeline, and where the first bad record ends the run.
func (c *Source) LeftOut() int64 {
	if c.pipe == nil || c.pipe.Quarantine == nil {
		return 0
	}
	return int64(len(c.pipe.Quarantine.Places()))
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
	c.pipe = pipe
	return pipe.Steps(), nil
}
