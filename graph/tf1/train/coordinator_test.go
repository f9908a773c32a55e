package train_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace"
	"millrace/graph/tf1/train"
	"millrace/tfbridge"
)

var errFirst = errors.New("the first error")

// untilStop runs until ctx is done.
func untilStop(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// The first error stops all goroutines, and Join returns it.
func TestCoordinatorStopsAll(t *testing.T) {
	tests := []struct {
		name string
		fail func(ctx context.Context) error
		want func(err error) bool
	}{
		{"error", func(context.Context) error { return errFirst }, func(err error) bool { return errors.Is(err, errFirst) }},
		{"panic", func(context.Context) error { panic("at the disco") }, func(err error) bool {
			return errors.Is(err, millrace.ErrInternal) && strings.Contains(err.Error(), "at the disco") && strings.Contains(err.Error(), "failing")
		}},
		{"exit", func(context.Context) error { runtime.Goexit(); return nil }, func(err error) bool {
			return errors.Is(err, millrace.ErrInternal) && strings.Contains(err.Error(), "failing")
		}},
		{"end of the data", func(context.Context) error { return tfbridge.OutOfRange }, func(err error) bool { return err == nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := train.NewCoordinator(t.Context(), nil)
				for range 3 {
					c.Go("waiting", untilStop)
				}
				c.Go("failing", test.fail)
				err := c.Join()
				c.RequestStop(errors.New("a later error"))
				if !test.want(err) {
					t.Errorf("Join() = %v", err)
				}
				if again := c.Join(); (again == nil) != (err == nil) {
					t.Errorf("the second Join() = %v, the first %v", again, err)
				}
			})
		})
	}
}

// A goroutine that returns nil ends alone, and Join waits for the others.
func TestCoordinatorJoinWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := train.NewCoordinator(t.Context(), nil)
		release, joined := make(chan struct{}), make(chan error, 1)
		c.Go("short", func(context.Context) error { return nil })
		c.Go("long", func(context.Context) error { <-release; return nil })
		go func() { joined <- c.Join() }()
		synctest.Wait()
		if c.ShouldStop() || len(joined) != 0 {
			t.Fatalf("after one goroutine has ended: ShouldStop() = %v, %d Joins have returned", c.ShouldStop(), len(joined))
		}
		close(release)
		if err := <-joined; err != nil {
			t.Errorf("Join() = %v", err)
		}
	})
}

// After the grace period Join names the late goroutines, with the first error.
func TestCoordinatorGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := train.NewCoordinator(t.Context(), &train.CoordinatorOptions{StopGracePeriod: 10 * time.Second})
		release := make(chan struct{})
		c.Go("obedient", untilStop)
		c.Go("deaf/fifo_queue", func(context.Context) error { <-release; return nil })
		start := time.Now()
		c.RequestStop(errFirst)
		err := c.Join()
		if waited := time.Since(start); waited != 10*time.Second {
			t.Errorf("Join returned after %v, the grace period is 10s", waited)
		}
		if !errors.Is(err, errFirst) || !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "deaf/fifo_queue") || strings.Contains(err.Error(), "obedient") {
			t.Errorf("Join() = %v", err)
		}
		close(release)
		if err := c.Join(); !errors.Is(err, errFirst) || errors.Is(err, millrace.ErrModel) {
			t.Errorf("Join() when everybody has ended = %v", err)
		}
	})
}

// The context of NewCoordinator stops all goroutines.
func TestCoordinatorContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := train.NewCoordinator(ctx, nil)
		c.Go("waiting", untilStop)
		if waiting, done := context.WithTimeout(t.Context(), time.Minute); c.WaitForStop(waiting) {
			t.Error("WaitForStop returned true before the stop")
			done()
		} else {
			done()
		}
		cancel(errFirst)
		if !c.WaitForStop(t.Context()) || !c.ShouldStop() || c.Context().Err() == nil {
			t.Error("the coordinator does not stop with its context")
		}
		if err := c.Join(); !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, errFirst) {
			t.Errorf("Join() = %v", err)
		}
	})
}

// Options select the errors that mean a clean stop.
func TestCoordinatorCleanStopErrors(t *testing.T) {
	c := train.NewCoordinator(t.Context(), &train.CoordinatorOptions{CleanStopErrors: []error{errFirst}})
	c.RequestStop(errFirst)
	if err := c.Join(); err != nil {
		t.Errorf("Join() = %v", err)
	}
	c = train.NewCoordinator(t.Context(), &train.CoordinatorOptions{CleanStopErrors: []error{errFirst}})
	c.RequestStop(tfbridge.OutOfRange)
	if err := c.Join(); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("Join() = %v", err)
	}
}

// Of many concurrent errors Join returns one, and the same one each time.
func TestCoordinatorManyErrors(t *testing.T) {
	for range 100 {
		c := train.NewCoordinator(t.Context(), nil)
		var start sync.WaitGroup
		start.Add(8)
		for range 8 {
			c.Go("failing", func(context.Context) error {
				start.Done()
				start.Wait()
				return errors.New("an error")
			})
		}
		if first, second := c.Join(), c.Join(); first == nil || first.Error() != second.Error() {
			t.Fatalf("Join() = %v, then %v", first, second)
		}
	}
}

func TestGoAfterJoin(t *testing.T) {
	c := train.NewCoordinator(t.Context(), nil)
	c.RequestStop(nil)
	if err := c.Join(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Go after Join did not panic")
		}
	}()
	c.Go("late", untilStop)
}
