package portable

import (
	"millrace/graph"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/run"
	"millrace/tfbridge"
)

// State returns the state of a run of the plan after some of its batches: see
// [run.Pipeline.StateAfter]. A run here and one of a graph continue from the same states. Where
// a state does not follow from the number of batches, it is nil, and a run up to there has it.
func State(p *plan.Plan, scan *plan.Scan, batches int64) (state []byte, err error) {
	err = withPipeline(p, scan, func(pl *run.Pipeline) error {
		if batches < 0 || pl.ComputesStates(batches) {
			state, err = pl.StateAfter(batches)
		}
		return err
	})
	return state, err
}

// beginOf returns where a run from a state begins: see [run.Pipeline.Begin].
func beginOf(p *plan.Plan, scan *plan.Scan, state []byte) (at run.Start, err error) {
	err = withPipeline(p, scan, func(pl *run.Pipeline) error {
		at, err = pl.Begin(state)
		return err
	})
	return at, err
}

// withPipeline calls fn with the pipeline of a plan.
func withPipeline(p *plan.Plan, scan *plan.Scan, fn func(*run.Pipeline) error) error {
	g := tfbridge.NewGraph()
	defer g.Close()
	parts, err := build.Build(graph.NewScopeWithGraph(g), p, scan)
	if err != nil {
		return err
	}
	return fn(run.NewPipeline(parts))
}
