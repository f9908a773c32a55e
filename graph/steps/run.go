package steps

import (
	"context"
	"io"
	"iter"

	"millrace"
	"millrace/tfbridge"
)

// Run yields the results of the steps, from the start of the data or from a saved state,
// with one session run per step. The session must belong to the pipeline's graph. An error
// comes last and once, with a nil batch; when ctx ends it is of class millrace.ErrCanceled
// and comes at once. Ranging again starts from the beginning.
//
// Only one run of a pipeline may be ranged over at a time: a second one yields an error of
// class millrace.ErrClosed. Different pipelines of one session may run at the same time.
func (p *Pipeline) Run(ctx context.Context, sess *tfbridge.Session, o *Options) iter.Seq2[*Batch, error] {
	if o == nil {
		o = &Options{}
	}
	return func(yield func(*Batch, error) bool) {
		if err := p.acquire(ctx); err != nil {
			yield(nil, err)
			return
		}
		defer p.release()
		newRun(p, sess, o).consume(ctx, yield)
	}
}

// consume yields what the producer makes.
func (r *run) consume(ctx context.Context, yield func(*Batch, error) bool) {
	ended := make(chan struct{})
	r.pipe.ended.Store(&ended)
	go r.produce(ctx, ended)
	defer r.leave(ctx, ended)
	for {
		res, err := r.receive(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		if res.err == io.EOF {
			return
		}
		if res.err != nil {
			yield(nil, res.err)
			return
		}
		if !r.yield(res.batch, yield) {
			return
		}
	}
}

// yield yields the batches of a step's result. It reports whether the loop is to
// continue.
func (r *run) yield(b *Batch, yield func(*Batch, error) bool) bool {
	batches, err := r.cut(b)
	if err != nil {
		yield(nil, err)
		return false
	}
	for i, b := range batches {
		more := yield(b, nil)
		b.release()
		if !more {
			releaseAll(batches[i+1:])
			return false
		}
	}
	r.received += int64(len(batches)) - 1
	return true
}

// receive waits for the next result.
func (r *run) receive(ctx context.Context) (result, error) {
	if r.asked != nil {
		select {
		case r.asked <- struct{}{}:
		case <-ctx.Done():
			return result{}, millrace.Canceled(ctx, "")
		}
	}
	select { // prefers a result that is ready
	case res := <-r.results:
		r.received++
		return res, nil
	default:
	}
	start := r.observe.waitStarts()
	select {
	case res := <-r.results:
		r.received++
		if res.err == nil && !r.o.OnDemand { // a step on demand always makes the consumer wait
			r.observe.waited(r.received, start)
		}
		return res, nil
	case <-ctx.Done():
		return result{}, millrace.Canceled(ctx, "")
	}
}

// leave ends the producer and frees results that were not received. If the context has
// ended it does not wait for the last step, which may take any time: the producer then
// frees the results.
func (r *run) leave(ctx context.Context, ended <-chan struct{}) {
	close(r.left)
	select {
	case <-ended:
	case <-ctx.Done():
	}
	r.discard()
}

// produce sends the result of every step. It ends after an error or the end of
// the data, or when the consumer has left.
func (r *run) produce(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	err := r.observe.Fault(r.o.Source, r.start(ctx))
	if r.pass != nil {
		defer r.pass.Close()
	}
	for r.wanted() {
		var b *Batch
		if err == nil {
			b, err = r.step(ctx)
		}
		select {
		case r.results <- result{b, err}:
		case <-r.left:
			b.release()
			r.discard()
			return
		}
		if err != nil {
			return
		}
	}
}

// wanted waits until the consumer wants another step. It is false when the
// consumer has left.
func (r *run) wanted() bool {
	if r.asked == nil {
		return true
	}
	select {
	case <-r.asked:
		return true
	case <-r.left:
		return false
	}
}

// discard frees results that will not be received.
func (r *run) discard() {
	for {
		select {
		case res := <-r.results:
			res.batch.release()
		default:
			return
		}
	}
}
