// Package uninterruptible runs work that cannot be interrupted, and returns early when a
// context ends.
//
//	model, err := uninterruptible.Run(ctx, func() (*Model, error) { return load(dir) })
package uninterruptible

import (
	"context"
	"io"

	"millrace"
)

// Run returns the result of work, or an error of class millrace.ErrCanceled
// when ctx is done. In that case work continues in the background, and Run closes
// its result.
func Run[T io.Closer](ctx context.Context, work func() (T, error)) (T, error) {
	var none T
	if ctx == nil {
		return none, millrace.Errorf(millrace.ErrConfig, "the context is nil")
	}
	if ctx.Err() != nil {
		return none, millrace.Canceled(ctx, "")
	}
	type result struct {
		value T
		err   error
	}
	done, abandoned := make(chan result), make(chan struct{})
	go func() {
		value, err := work()
		select {
		case done <- result{value, err}:
		case <-abandoned:
			if err == nil {
				value.Close()
			}
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		close(abandoned)
		return none, millrace.Canceled(ctx, "")
	}
}
