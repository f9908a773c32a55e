// Package slots limits how many requests run at a time.
package slots

import (
	"context"

	"millrace"
)

// Slots has room for a number of requests. Nil has room for any number.
type Slots chan struct{}

// New returns slots for n requests, or for any number if n is not positive.
func New(n int) Slots {
	if n <= 0 {
		return nil
	}
	return make(Slots, n)
}

// Acquire waits for a slot. If it returns nil the caller releases the slot.
func (s Slots) Acquire(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return millrace.Canceled(ctx, "waiting for a thread")
	}
}

// Release gives a slot back.
func (s Slots) Release() {
	if s != nil {
		<-s
	}
}
