package convert

import (
	"context"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"millrace"
)

// waitingBytes is the memory budget of blocks that were read but not written yet. Usual
// blocks take less.
const waitingBytes = 128 << 20

// inOrder runs the work that read submits in workers, and passes the results to take in
// the order of submission, in one goroutine. Submissions wait while earlier ones take
// too much memory.
func inOrder[R any](ctx context.Context, workers int, read func(submit func(size int64, work func() R) error) error, take func(R) error) error {
	type task struct {
		work func() R
		size int64
		done chan R
	}
	budget := semaphore.NewWeighted(waitingBytes)
	g, ctx := errgroup.WithContext(ctx)
	tasks, order := make(chan *task), make(chan *task, 2*workers)
	g.Go(func() error {
		defer close(tasks)
		defer close(order)
		return read(func(size int64, work func() R) error {
			t := &task{work, min(size, waitingBytes), make(chan R, 1)}
			if budget.Acquire(ctx, t.size) != nil {
				return millrace.Canceled(ctx, "conversion")
			}
			for _, to := range []chan<- *task{order, tasks} {
				select {
				case to <- t:
				case <-ctx.Done():
					return millrace.Canceled(ctx, "conversion")
				}
			}
			return nil
		})
	})
	for range workers {
		g.Go(func() error {
			for t := range tasks {
				t.done <- t.work()
			}
			return nil
		})
	}
	g.Go(func() error {
		for t := range order {
			select {
			case r := <-t.done:
				if err := take(r); err != nil {
					return err
				}
				budget.Release(t.size)
			case <-ctx.Done():
				return millrace.Canceled(ctx, "conversion")
			}
		}
		return nil
	})
	return g.Wait()
}
