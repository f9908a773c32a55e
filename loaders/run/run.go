package run

import (
	"context"
	"iter"
	"slices"
	"sync"

	"millrace/graph/steps"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// NewPipeline returns a pipeline that runs operations that [build.Build] made.
func NewPipeline(parts *build.Parts) *Pipeline {
	pl := &Pipeline{Parts: parts, GroupSize: parts.Plan.Engine().GroupSize(parts.Scan), retryGroupSize: parts.Plan.Engine().RetryGroupSize()}
	pl.identity = sync.OnceValues(parts.Plan.Identity)
	pl.dataDigest = sync.OnceValue(parts.Scan.Digest)
	if parts.Plan.Engine().Seeks() {
		pl.epochExamples = order.EpochExamples(parts.Plan.Spec, parts.Scan)
	}
	if parts.Plan.WithinEpoch && !parts.Plan.Filters() {
		pl.epochRows = plan.EpochRows(parts.Plan, parts.Scan)
	}
	input := steps.Input{Tensors: parts.Tensors, Rows: parts.Rows, Positions: parts.Positions, Open: pl.open}
	if m := parts.Plan.Spec.Model; m != nil {
		input.ModelInputs = slices.Clip(m.Inputs)
	}
	if parts.Plan.Engine().JoinsBatches() {
		input.BatchRows = parts.Plan.BatchSize
	}
	pl.steps = steps.New(input)
	return pl
}

// Steps returns the pipeline as a model's input.
func (pl *Pipeline) Steps() *steps.Pipeline { return pl.steps }

// Run yields the batches of a pipeline from the start or a saved state, by one
// session run per batch, or for several small ones. Where the plan says so
// ([engine.Choice.RunPrefetches]), the run makes as many ahead as the plan prefetches. See
// [steps.Pipeline.Run].
//
// Only one Run of a pipeline may be ranged over at a time; a second one yields
// an error.
func (pl *Pipeline) Run(ctx context.Context, sess *tfbridge.Session, o *steps.Options) iter.Seq2[*steps.Batch, error] {
	return pl.steps.Run(ctx, sess, pl.ahead(o))
}

// Wait waits until no step of an earlier run is in flight. When a context ends
// a run, the run's last step may continue; closing the session ends it.
func (pl *Pipeline) Wait(ctx context.Context) error { return pl.steps.Wait(ctx) }

// open starts a pass over the data.
func (pl *Pipeline) open(ctx context.Context, sess *tfbridge.Session, o *steps.Options) (steps.Pass, error) {
	if o.Places {
		if err := order.CheckPlaces(pl.Plan.Engine()); err != nil {
			return nil, err
		}
	}
	if p := pl.Plan; p.Epochs == 0 && pl.epochRows > 0 && pl.dropped(0) > 0 {
		return nil, pl.configError("an epoch has %d examples, and drop_remainder drops them, because a batch has %d: the loader would wait for ever", pl.epochRows, p.BatchSize)
	}
	end := pl.Files.Begin(ctx)
	p, err := pl.newPass(ctx, sess, o)
	if err != nil {
		end()
		return nil, err
	}
	p.end = end
	return p, nil
}

// newPass starts the iterator of a pass.
func (pl *Pipeline) newPass(ctx context.Context, sess *tfbridge.Session, o *steps.Options) (*pass, error) {
	if err := pl.checkService(ctx, sess); err != nil {
		return nil, err
	}
	empty, err := pl.runProbe(ctx, sess)
	if err != nil {
		return nil, err
	}
	pl.filtered.Store(0)
	fed := []tfbridge.Output{pl.Group, pl.Skip, pl.Prefetch}
	p := &pass{pipe: pl, session: sess, o: o, empty: empty}
	switch {
	case pl.BlockRows > 0:
		fed, p.held = append(fed, pl.Held, pl.Blocks), &missing{rows: pl.BlockRows}
	case pl.Plan.Engine().HoldsPositions():
		fed, p.held = append(fed, pl.Held), newHeld(0, nil)
	}
	if p.init, err = sess.Prepare(fed, nil, []*tfbridge.Operation{pl.Iterator.Init}); err != nil {
		return nil, err
	}
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
		err = p.start(p.groupSize(0), 0)
	}
	if err == nil && o.Places {
		p.places, err = newPlaces(pl, p.begin, p.seen(), p.held)
	}
	if err == nil && o.PrepareSave {
		err = p.prepareSave(ctx)
	}
	return p, err
}
