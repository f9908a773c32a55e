package loaders

import (
	"context"

	"millrace/graph"
	"millrace/loaders/run"
	"millrace/tfbridge"
)

// StageTime is the work of a dataset in a pipeline.
type StageTime = run.StageTime

// TimeStages reads the given number of batches of a plan, or one epoch if it has fewer,
// and returns how long each dataset of the pipeline worked, in the order of the data.
// If scan is nil, it looks at the files first.
//
// It builds its own pipeline and closes it. Measuring makes tf.data slower, and other
// pipelines cannot restore the states of a measured one.
func TimeStages(ctx context.Context, p *Plan, scan *Scan, batches int64) ([]StageTime, error) {
	g, pipe, err := buildAlone(ctx, p.MeasureTime(), scan)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	sess, err := tfbridge.NewSession(g, quickStart(nil))
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
		// Datasets that have read all their data no longer report times, so the last
		// batch may be too late.
		if len(times) >= len(best) {
			best = times
		}
		if taken == batches {
			break
		}
	}
	return best, nil
}

// buildAlone builds a plan's pipeline in a separate graph, which the caller closes. If
// scan is nil it looks at the files first.
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
