package convert

import (
	"context"

	"golang.org/x/sync/errgroup"

	"millrace"
)

// inOrder has workers do what read submits, and gives the results to take in the order of
// their submission, by one goroutine.
func inOrder[R any](ctx context.Context, workers int, read func(submit func(work func() R) error) error, take func(R) error) error {
	type task struct {
		work func() R
		done chan R
	}
	g, ctx := errgroup.WithContext(ctx)
	tasks, order := make(chan *task), make(chan *task, 2*workers)
	g.Go(func() error {
		defer close(tasks)
		defer close(order)
		return read(func(work func() R) error {
			t := &task{work, make(chan R, 1)}
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
			case <-ctx.Done():
				return millrace.Canceled(ctx, "conversion")
			}
		}
		return nil
	})
	return g.Wait()
}
