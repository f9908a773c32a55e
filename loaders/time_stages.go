package loaders

import (
	"context"

	"millrace/graph"
	"millrace/loaders/run"
	"millrace/tfbridge"
)

// StageTime is what a dataset of a pipeline did.
type StageTime = run.StageTime

// TimeStages reads so many batches of a plan, or one epoch if it has fewer, and returns
// how long each dataset of the pipeline worked, the one that data enters first. A nil
// scan has it look at the files first.
//
// It builds a pipeline of its own and closes it, beside whatever else runs: measuring
// makes tf.data slower, and a pipeline that is measured saves states that one which
// is not cannot restore.
func TimeStages(ctx context.Context, p *Plan, scan *Scan, batches int64) ([]StageTime, error) {
	g, pipe, err := buildAlone(ctx, p.MeasureTime(), scan)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		return nil, err
	}
	defer sess.Close()
	var best []StageTime
	var taken int64
	for _, err := range pipe.Run(ctx, sess, nil) {
		if err != nil {
			return nil, err
		}
		taken++
		if taken&(taken-1) != 0 && taken != batches {
			continue
		}
		times, err := pipe.StageTimes(ctx, sess)
		if err != nil {
			return nil, err
		}
		// Datasets are gone when they have read all: the last batch may be too late.
		if len(times) >= len(best) {
			best = times
		}
		if taken == batches {
			break
		}
	}
	return best, nil
}

// buildAlone builds a plan's pipeline in a graph of its own, which the caller closes. A
// nil scan has it look at the files first.
func buildAlone(ctx context.Context, p *Plan, scan *Scan) (*tfbridge.Graph, *Pipeline, error) {
	if scan == nil {
		var err error
		if scan, err = p.Scan(ctx); err != nil {
			return nil, nil, err
		}
	}
	g := tfbridge.NewGraph()
	pipe, err := Build(graph.NewScopeWithGraph(g), p, scan)
	if err != nil {
		g.Close()
		return nil, nil, err
	}
	return g, pipe, nil
}
