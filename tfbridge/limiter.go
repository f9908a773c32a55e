package tfbridge

import (
	"context"

	"millrace"
)

// defaultBlocking is how many calls may block in C at a time. Each holds an
// operating system thread, and Go ends the process at 10,000 of them.
const defaultBlocking = 64

// limiter lets a limited number of callers into blocking C calls.
type limiter chan struct{}

// acquire waits for a place until ctx ends or closing is closed, of which a
// nil one never is. The caller gives the place back with release.
func (l limiter) acquire(ctx context.Context, closing <-chan struct{}) error {
	select {
	case l <- struct{}{}:
		return nil
	default:
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-closing:
		return errClosed("session")
	case <-ctx.Done():
		return errCanceled(ctx)
	}
}

// release gives a place back.
func (l limiter) release() { <-l }

// errCanceled is the failure of a call whose context ended.
func errCanceled(ctx context.Context) error {
	return millrace.Errorf(millrace.ErrCanceled, "canceled: %w", context.Cause(ctx))
}
