//go:build cgo

package tfbridge

import (
	"context"
	"time"

	"millrace"
)

// defaultBlocking is the number of calls that may block in C at once. Each of them
// holds an operating system thread, and Go ends a process that has 10,000 of these.
const defaultBlocking = 64

// limiter is a semaphore: its capacity is the number of calls that may block in C.
type limiter chan struct{}

// acquire blocks until a slot is free, ctx is done, or closing is closed. A nil
// closing channel is never closed. The caller gives the slot back with release.
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
		return millrace.Canceled(ctx, "")
	}
}

// A run may wait for a Go function that makes runs itself. These nested runs must not
// wait for the slots of the runs that wait for the function: with all slots taken this
// would be a deadlock. So nested runs have separate slots. We know a nested run by its
// context, which derives from the call's context.
//
// That is not enough. Go functions may be nested to any depth, and may make a
// run without their context. So while any Go function runs, a run that has
// waited for some time takes one of a limited number of extra slots.
const (
	maxNested      = 64 // nested runs
	maxExtraNested = 512
	maxExtra       = 32 // other runs

	nestedWait = 100 * time.Millisecond // before a nested run takes an extra slot
	outerWait  = time.Second            // before another run does
)

var (
	nested      = make(limiter, maxNested)
	extraNested = make(limiter, maxExtraNested)
	extra       = make(limiter, maxExtra)
)

// acquireSlot waits for a slot for a run, and returns the limiter to release.
func acquireSlot(ctx context.Context, closing <-chan struct{}) (limiter, error) {
	slots, more, wait := blocking, extra, outerWait
	if ctx.Value(calling{}) != nil {
		slots, more, wait = nested, extraNested, nestedWait
	}
	if runningCalls.Load() == 0 {
		return slots, slots.acquire(ctx, closing)
	}
	select {
	case slots <- struct{}{}:
		return slots, nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case slots <- struct{}{}:
		return slots, nil
	case <-closing:
		return nil, errClosed("session")
	case <-ctx.Done():
		return nil, millrace.Canceled(ctx, "")
	case <-timer.C:
	}
	select {
	case slots <- struct{}{}:
		return slots, nil
	case more <- struct{}{}:
		return more, nil
	case <-closing:
		return nil, errClosed("session")
	case <-ctx.Done():
		return nil, millrace.Canceled(ctx, "")
	}
}

// release gives a slot back. A nil limiter has none.
func (l limiter) release() {
	if l != nil {
		<-l
	}
}

// errNoContext is the error about a nil context.
func errNoContext() error { return millrace.Errorf(millrace.ErrConfig, "the context is nil") }
