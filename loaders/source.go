package loaders

import (
	"context"
	"sync/atomic"

	"millrace/graph"
	"millrace/graph/steps"
)

// Source feeds the batches of a plan to a model of package estimator, as a
// [Loader] does, without a graph and a session of its own.
type Source struct {
	Plan *Plan
	Scan *Scan // of the plan, as [Prepare] gives it; nil: Pipeline scans

	pipe atomic.Pointer[Pipeline] // that was built last
}

// LeftOut returns how many bad records the run of the source has left out so far, those
// before the state that it began with among them. A record counts once. It is 0 before
// Pipeline, and where the first bad record ends the run.
func (c *Source) LeftOut() int64 {
	pipe := c.pipe.Load()
	if pipe == nil || pipe.Quarantine == nil {
		return 0
	}
	return int64(pipe.Quarantine.Len())
}

// ExpectedRows returns how many rows a whole run of the source gives, from the start of the data to
// the end, and whether that can be said before it has ended. Each bad record that the run
// leaves out makes it fewer. It may be called while a run is going on. Without Scan it is not
// known before Pipeline.
func (c *Source) ExpectedRows() (rows int64, known bool) {
	if pipe := c.pipe.Load(); pipe != nil {
		return pipe.ExpectedRows()
	}
	if c.Scan == nil {
		return 0, false
	}
	return c.Plan.ExpectedRows(c.Scan, 0)
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
	c.pipe.Store(pipe)
	return pipe.Steps(), nil
}
