package run

import (
	"context"
	"iter"

	"millrace"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// Run yields the batches of a pipeline, from the start of the data or from a
// saved state. It runs the session once for each batch. The session must belong
// to the graph that the pipeline was built into. While the caller works on a
// batch, Run computes the next ones. An error comes last and once. When ctx
// ends, an error of class millrace.ErrCanceled comes at once.
//
// Only one Run of a pipeline may be ranged over at a time; a second one yields
// an error.
func (pl *Pipeline) Run(ctx context.Context, sess *tfbridge.Session, o *Options) iter.Seq2[*Batch, error] {
	if o == nil {
		o = &Options{}
	}
	return func(yield func(*Batch, error) bool) {
		if err := pl.acquire(ctx); err != nil {
			yield(nil, err)
			return
		}
		defer pl.release()
		if err := pl.runProbe(ctx, sess); err != nil {
			yield(nil, err)
			return
		}
		p, err := pl.newProducer(sess, o)
		if err != nil {
			yield(nil, err)
			return
		}
		pl.consume(ctx, p, yield)
	}
}

// acquire makes the caller the only reader of the pipeline. The producer of a
// cancelled run may still be computing its last batch. It would take the first
// batch of the new run, so acquire waits for it.
func (pl *Pipeline) acquire(ctx context.Context) error {
	if !pl.reading.CompareAndSwap(false, true) {
		return millrace.Errorf(millrace.ErrClosed, "another loop is reading this pipeline")
	}
	if err := pl.Wait(ctx); err != nil {
		pl.release()
		return err
	}
	return nil
}

func (pl *Pipeline) release() { pl.reading.Store(false) }

// Wait blocks until no step of an earlier run is in flight, or ctx ends. A run
// that was cancelled leaves its last step running. Closing the session ends that
// step too.
func (pl *Pipeline) Wait(ctx context.Context) error {
	ended := pl.ended.Load()
	if ended == nil {
		return nil
	}
	select {
	case <-*ended:
		return nil
	case <-ctx.Done():
		return plan.Canceled(ctx)
	}
}

// consume yields what the producer makes.
func (pl *Pipeline) consume(ctx context.Context, p *producer, yield func(*Batch, error) bool) {
	ended := make(chan struct{})
	pl.ended.Store(&ended)
	go p.produce(ctx, ended)
	defer func() {
		close(p.left)
		select {
		case <-ended:
		case <-ctx.Done(): // the producer's last step may take long: leave it to Wait
		}
	}()
	for {
		var res result
		select {
		case res = <-p.results:
		case <-ctx.Done():
			yield(nil, plan.Canceled(ctx))
			return
		}
		if res.err == errEnd {
			return
		}
		more := yield(res.batch, res.err)
		res.batch.release()
		if !more || res.err != nil {
			return
		}
	}
}
