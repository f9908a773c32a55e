package batching

import "context"

/*
Short batches without a change of goroutine

A request that finds a free thread needs a goroutine that runs its batch, because the request
returns at its deadline, whatever the model does. TensorFlow's run needs another one for the same
reason. A small model with one client computes for 20 us and then costs 40 us more: Go wakes a
thread for each goroutine that becomes runnable, which costs the kernel more than the goroutine.

So where the costs of rows promise less than briefRun, all happens in the goroutine of the request:

	request             usual                              brief
	-------             -----                              -----
	submit              -> go work -> go run (C)           submit, workOnce, run (C)
	wait for done       <- batch   <- results              done

What if the promise is broken, by a kernel whose time depends on values? When the request's
context ends, another goroutine has the request leave. Its batch, which nobody waits for then, is
interrupted like any other, and its thread is free for other batches at once: desert. The run is
listed among those that were abandoned. Only the answer to this one request is late. The cost of
a row then rises, and the next batches run the usual way.

Requests that gather meanwhile are left to a goroutine: workOnce runs one batch.
*/

// runHere runs the batch of a request in the calling goroutine. When ctx ends meanwhile,
// the request leaves.
func (b *Batcher) runHere(ctx context.Context, r *request) {
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(left)
		b.leave(r)
	})
	b.options.Scheduler.workOnce(b.queue)
	if !stop() {
		<-left // r must not be used again before
	}
}
