package loaders

import (
	"context"
	"sync/atomic"

	"millrace/graph"
	"millrace/graph/steps"
)

// Source feeds the batches of a plan to a model of package estimator. It works like a
// [Loader], but has no graph and session.
type Source struct {
	Plan *Plan
	Scan *Scan // the plan's scan, as [Prepare] returns it; nil: Pipeline scans

	pipe atomic.Pointer[Pipeline] // the pipeline built last
}

// LeftOut returns how many bad records the run of the source has left out so far,
// including those before the state from which it started. A record counts once. It is 0
// before Pipeline, and where the first bad record ends the run.
func (c *Source) LeftOut() int64 {
	pipe := c.pipe.Load()
	if pipe == nil || pipe.Quarantine == nil {
		return 0
	}
	return int64(pipe.Quarantine.Len())
}

// Filtered returns how many examples the filters of the source's run have not kept so far: see
// [run.Pipeline.Filtered]. It is 0 before Pipeline.
func (c *Source) Filtered() int64 {
	if pipe := c.pipe.Load(); pipe != nil {
		return pipe.Filtered()
	}
	return 0
}

// ExpectedRows returns how many rows a whole run of the source gives, from the start of
// the data to the end. The second result is false if that is not known before the run
// has ended. Each bad record that the run leaves out reduces the number. ExpectedRows
// may be called during a run. Without Scan the number is not known before Pipeline.
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
