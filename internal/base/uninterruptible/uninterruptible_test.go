package uninterruptible_test

import (
	"context"
	"errors"
	"testing"

	"millrace"
	"millrace/internal/base/uninterruptible"
)

// closer signals when it is closed.
type closer chan struct{}

func (c closer) Close() error {
	close(c)
	return nil
}

func TestWhen(t *testing.T) {
	c := make(closer)
	got, err := uninterruptible.Run(t.Context(), func() (closer, error) { return c, nil })
	if got != c || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	failed := errors.New("failed")
	if _, err := uninterruptible.Run(t.Context(), func() (closer, error) { return nil, failed }); err != failed {
		t.Errorf("got %v", err)
	}
	var none context.Context
	if _, err := uninterruptible.Run(none, func() (closer, error) { return c, nil }); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("a nil context: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	blocked := make(chan struct{})
	_, err = uninterruptible.Run(ctx, func() (closer, error) {
		cancel()
		<-blocked
		return c, nil
	})
	if !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
	close(blocked)
	<-c // closed in the background
	if _, err := uninterruptible.Run(ctx, func() (closer, error) { panic("work was begun") }); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("canceled before: %v", err)
	}
}
