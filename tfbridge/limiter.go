package tfbridge

import (
	"context"
	"time"

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

// The limits for runs that Go functions make while another run waits for them.
const (
	maxNested       = 64 // at a time
	nestedPatience  = 100 * time.Millisecond
	maxExtraNested  = 512 // more, for those that have waited so long
	callingPatience = time.Second
	maxExtra        = 32 // more of other runs while Go functions run
)

var (
	nested      = make(limiter, maxNested)
	extraNested = make(limiter, maxExtraNested)
	extra       = make(limiter, maxExtra)
)

// acquirePlace waits for a place for a run and returns where to give it back.
//
// A run that a Go function makes must not wait for the places of those runs
// that wait for the function, so it has places of its own. It is known by its
// context. Functions may be nested, and may have lost their context: whoever
// waits for long while Go functions run gets one of the extra places, so that
// runs which wait for each other go on.
func acquirePlace(ctx context.Context, closing <-chan struct{}) (limiter, error) {
	places, more, patience := blocking, extra, callingPatience
	if ctx.Value(calling{}) != nil {
		places, more, patience = nested, extraNested, nestedPatience
	}
	if runningCalls.Load() == 0 {
		return places, places.acquire(ctx, closing)
	}
	select {
	case places <- struct{}{}:
		return places, nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case places <- struct{}{}:
		return places, nil
	case <-closing:
		return nil, errClosed("session")
	case <-ctx.Done():
		return nil, errCanceled(ctx)
	case <-timer.C:
	}
	select {
	case places <- struct{}{}:
		return places, nil
	case more <- struct{}{}:
		return more, nil
	case <-closing:
		return nil, errClosed("session")
	case <-ctx.Done():
		return nil, errCanceled(ctx)
	}
}

// release gives a place back.
func (l limiter) release() { <-l }

// errCanceled is the failure of a call whose context ended.
func errCanceled(ctx context.Context) error {
	return millrace.Errorf(millrace.ErrCanceled, "canceled: %w", context.Cause(ctx))
}

// errNoContext says that a context is nil.
func errNoContext() error { return millrace.Errorf(millrace.ErrConfig, "the context is nil") }
