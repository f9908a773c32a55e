package run

import (
	"context"
	"iter"

	"millrace"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// Options says what a run over a pipeline fetches. Nil and the zero value
// fetch the pipeline's own tensors.
type Options struct {
	Fetch []build.NamedOutput // nil: Pipeline.Tensors
	Ahead int                 // batches computed before they are asked for; default and at least 1

	SaveEvery int64  // every so many batches [Batch.State] tells where they end; 0: never
	State     []byte // such a state, to go on from; nil: the start
}

// Run yields the batches of a pipeline from the start or a saved state, by one session run a
// batch. The session is one of the graph that the pipeline was built into. The
// next batches are computed while the caller works on one. An error comes last
// and once; when ctx ends it is of class millrace.ErrCanceled, at once.
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

// acquire makes the caller the only one who reads the pipeline. The producer
// of a cancelled run may still be at its last batch: it is waited for, since
// it would otherwise take the first batch of the new run.
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

// Wait waits until nothing of an earlier run is in flight. A run that ended
// because its context did leaves its last step running; closing the session
// ends that.
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
		case <-ctx.Done(): // its last step may take as long as it likes
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
