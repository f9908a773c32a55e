package train

import (
	"context"
	"errors"
	"slices"
	"sync"

	"millrace/tfbridge"
)

// stage is a runner that runs in one session.
type stage struct {
	runner      *QueueRunner
	coordinator *Coordinator
	session     *tfbridge.Session
	runs        prepared
	keep        func() bool   // keeps cancel from being called; false if it was called
	canceled    chan struct{} // closed when cancel has ended

	mu   sync.Mutex
	live int // number of running goroutines
}

// fill runs an enqueue operation until the data ends, it fails, or ctx is done.
func (g *stage) fill(ctx context.Context, operation int, name string) error {
	ended := false
	defer func() { g.leave(ended) }()
	for ctx.Err() == nil {
		// With ctx, Run would return before the run ends. The cancel operation ends a
		// run that waits.
		if _, err := g.runs.enqueue[operation].Run(context.Background(), nil); err != nil {
			if ended = g.runner.isClosed(err); ended {
				return nil
			}
			err = &EnqueueError{Runner: g.runner, Operation: operation, Err: err, name: name}
			g.coordinator.RequestStop(err) // before leave, which waits for the cancellation
			return err
		}
	}
	return nil
}

// EnqueueError is the failure of an enqueue operation of a runner.
type EnqueueError struct {
	Runner    *QueueRunner
	Operation int // its index in Runner.EnqueueOps
	Err       error

	name string // the graph may be closed when the error is printed
}

// Error returns the name of the queue, the operation and the failure.
func (e *EnqueueError) Error() string { return e.name + ": " + e.Err.Error() }

// Unwrap returns the failure.
func (e *EnqueueError) Unwrap() error { return e.Err }

// isClosed reports whether an enqueue operation failed because the data has ended.
func (r *QueueRunner) isClosed(err error) bool {
	return slices.ContainsFunc(r.closed, func(c tfbridge.Code) bool { return errors.Is(err, c) })
}

// leave records the end of a goroutine. The last one closes the queue if its data
// ended, and waits until a cancellation has ended.
func (g *stage) leave(ended bool) {
	g.mu.Lock()
	g.live--
	last := g.live == 0
	g.mu.Unlock()
	if !last {
		return
	}
	if ended {
		// It fails if the queue is already closed, which is fine.
		_, _ = g.runs.close.Run(context.Background(), nil)
	}
	if !g.keep() {
		<-g.canceled
	}
	g.runner.mu.Lock()
	delete(g.runner.running, g.session)
	g.runner.mu.Unlock()
}

// cancel closes the queue so that no enqueue waits. It fails if the queue or the
// session is already closed, which is fine.
func (g *stage) cancel() {
	defer close(g.canceled)
	_, _ = g.runs.cancel.Run(context.Background(), nil)
}
