package run

import (
	"context"
	"iter"
	"sync"

	"millrace/graph/steps"
	"millrace/loaders/build"
	"millrace/tfbridge"
)

// NewPipeline returns a pipeline that runs operations that [build.Build] made.
func NewPipeline(parts *build.Parts) *Pipeline {
	pl := &Pipeline{Parts: parts, GroupSize: parts.Plan.GroupSize(parts.Scan), retryGroupSize: parts.Plan.RetryGroupSize()}
	pl.digest = sync.OnceValues(parts.Plan.Digest)
	pl.dataDigest = sync.OnceValue(func() string { return dataDigest(parts.Scan) })
	pl.steps = steps.New(steps.Input{Tensors: parts.Tensors, Rows: parts.Rows, Open: pl.open})
	return pl
}

// Steps returns the pipeline as a model's input.
func (pl *Pipeline) Steps() *steps.Pipeline { return pl.steps }

// Run yields the batches of a pipeline from the start or a saved state, one
// session run per batch. See [steps.Pipeline.Run].
//
// Only one Run of a pipeline may be ranged over at a time; a second one yields
// an error.
func (pl *Pipeline) Run(ctx context.Context, sess *tfbridge.Session, o *steps.Options) iter.Seq2[*steps.Batch, error] {
	return pl.steps.Run(ctx, sess, o)
}

// Wait waits until no step of an earlier run is in flight. When a context ends
// a run, the run's last step may continue; closing the session ends it.
func (pl *Pipeline) Wait(ctx context.Context) error { return pl.steps.Wait(ctx) }

// open starts a pass over the data.
func (pl *Pipeline) open(ctx context.Context, sess *tfbridge.Session, o *steps.Options) (steps.Pass, error) {
	empty, err := pl.runProbe(ctx, sess)
	if err != nil {
		return nil, err
	}
	start, err := sess.Prepare([]tfbridge.Output{pl.Group, pl.Skip}, nil, []*tfbridge.Operation{pl.Iterator.Init})
	if err != nil {
		return nil, err
	}
	p := &pass{pipe: pl, session: sess, saveEvery: o.SaveEvery, init: start, empty: empty}
	var header *stateHeader
	var state []byte
	if o.State != nil {
		if header, state, err = pl.decodeState(o.State); err != nil {
			return nil, err
		}
	}
	if err := pl.beginLeavingOut(o, header); err != nil {
		return nil, err
	}
	if header != nil {
		err = p.restoreState(header, state)
	} else {
		err = p.start(pl.GroupSize, 0)
	}
	if err == nil && o.PrepareSave {
		err = p.prepareSave(ctx)
	}
	return p, err
}
