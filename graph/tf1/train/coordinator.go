package train

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// # Stopping goroutines together
//
// The question. Several goroutines feed one consumer through queues. When one of them
// fails, or the consumer needs no more, all must end, including those that wait inside
// TensorFlow at a queue that will never be filled or emptied again. Then the program must
// get the first error, and be certain that nothing still runs.
//
// A context stops goroutines, but cannot list those that still run. An errgroup waits
// forever for a goroutine that ignores its context, and ends the process when one panics.
// So this is Python's Coordinator in Go:
//
//	goroutines (Go)                    consumer
//	---------------                    --------
//	work, until ctx is done            work, until ShouldStop
//	   | the first error, a panic         | has enough
//	   v                                  v
//	        RequestStop(err): ctx is done, err is its cause
//	                       |
//	                       v
//	   end, or are late    Join: waits for all; after the grace period
//	                       it names those that are late
//
// The cause of the context is the only record of the first error. So nothing can stop a
// coordinator without an error to report, and no second error replaces the first.

// Coordinator stops a set of goroutines together, and reports how they ended. Many
// goroutines may use it concurrently.
//
//	c := train.NewCoordinator(ctx, nil)
//	c.Go("reader", func(ctx context.Context) error { ... })
//	for !c.ShouldStop() {
//		...
//	}
//	c.RequestStop(nil)
//	err := c.Join()
type Coordinator struct {
	parent context.Context
	ctx    context.Context
	stop   context.CancelCauseFunc
	clean  []error
	grace  time.Duration

	mu      sync.Mutex
	running []*routine    // routines in the order of their start
	idle    chan struct{} // closed when nothing runs; nil unless a goroutine waits for that
	joined  bool
}

// CoordinatorOptions are the options of a coordinator. Nil and the zero value mean
// the defaults.
type CoordinatorOptions struct {
	// StopGracePeriod is the time that goroutines have to end after a stop was requested. 0
	// means 2 minutes.
	StopGracePeriod time.Duration
	// CleanStopErrors are errors that stop the goroutines without counting as a failure,
	// compared by errors.Is. Nil means tfbridge.OutOfRange, the end of the data.
	CleanStopErrors []error
}

// stopGracePeriod is the default of CoordinatorOptions.StopGracePeriod.
const stopGracePeriod = 2 * time.Minute

// routine is a goroutine that a coordinator waits for.
type routine struct{ name string }

// stopped is the cause of a coordinator's context after RequestStop.
type stopped struct{ err error } // nil for a clean stop

func (stopped) Error() string { return "the coordinator was told to stop" }

// NewCoordinator returns a coordinator that also stops when ctx is done. A coordinator that
// never stops keeps a context derived from ctx in memory until ctx is done.
func NewCoordinator(ctx context.Context, o *CoordinatorOptions) *Coordinator {
	if o == nil {
		o = &CoordinatorOptions{}
	}
	c := &Coordinator{parent: ctx, clean: o.CleanStopErrors, grace: o.StopGracePeriod}
	if c.clean == nil {
		c.clean = []error{tfbridge.OutOfRange}
	}
	if c.grace <= 0 {
		c.grace = stopGracePeriod
	}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	return c
}

// Context returns a context that is done when a stop was requested.
func (c *Coordinator) Context() context.Context { return c.ctx }

// ShouldStop reports whether a stop was requested.
func (c *Coordinator) ShouldStop() bool { return c.ctx.Err() != nil }

// RequestStop stops all goroutines. Join returns the error of the first call. Nil and the
// errors of CoordinatorOptions.CleanStopErrors request a clean stop. Later calls change
// nothing.
func (c *Coordinator) RequestStop(err error) {
	for _, clean := range c.clean {
		if errors.Is(err, clean) {
			err = nil
		}
	}
	c.stop(stopped{err})
}

// WaitForStop waits until a stop is requested. It returns false if ctx is done
// before that.
func (c *Coordinator) WaitForStop(ctx context.Context) bool {
	select {
	case <-c.ctx.Done():
		return true
	case <-ctx.Done():
		return c.ShouldStop()
	}
}

// Go calls f in a goroutine that Join waits for. The context of f is done when a stop was
// requested. An error of f requests a stop, and so does a panic, which becomes an error of
// class millrace.ErrInternal. Errors name the goroutine by name. Go must not be called
// after Join has returned.
func (c *Coordinator) Go(name string, f func(ctx context.Context) error) {
	r := &routine{name: name}
	c.mu.Lock()
	joined := c.joined
	if !joined {
		c.running = append(c.running, r)
	}
	c.mu.Unlock()
	if joined {
		panic("train: Go of a Coordinator that was joined")
	}
	go func() {
		defer c.ended(r)
		c.call(name, f)
	}()
}

// call calls f and requests a stop unless f returns nil. runtime.Goexit, which
// testing.T.FailNow calls, requests a stop as well.
func (c *Coordinator) call(name string, f func(ctx context.Context) error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			c.RequestStop(millrace.Errorf(millrace.ErrInternal, "%s: %w", name, tfbridge.PanicError(v)))
		} else if !returned {
			c.RequestStop(millrace.Errorf(millrace.ErrInternal, "%s: the goroutine ended without returning", name))
		}
	}()
	err := f(c.ctx)
	returned = true
	if err != nil {
		c.RequestStop(err)
	}
}

// ended removes a goroutine from the list.
func (c *Coordinator) ended(r *routine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.running, r)
	c.running = slices.Delete(c.running, i, i+1)
	if len(c.running) == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// Join waits until all goroutines have ended, without requesting a stop. It returns the
// error passed to RequestStop. If the context of NewCoordinator was done first, the error
// is of class millrace.ErrCanceled.
//
// Goroutines have the grace period to end after a stop was requested. If some are late,
// Join returns an error of class millrace.ErrModel that names them, joined with the first
// error. They continue to run. A runner that waits at a queue without a [QueueRunner] ends
// when its session is closed.
func (c *Coordinator) Join() error {
	late := c.wait()
	c.mu.Lock()
	c.joined = true
	c.mu.Unlock()
	return errors.Join(c.failure(), late)
}

// wait waits for all goroutines, no longer than the grace period after a stop.
func (c *Coordinator) wait() error {
	idle := c.allEnded()
	select {
	case <-idle:
		return nil
	case <-c.ctx.Done():
	}
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-idle:
		return nil
	case <-timer.C:
	}
	names := c.names()
	if len(names) == 0 {
		return nil // the last one has just ended
	}
	return millrace.Errorf(millrace.ErrModel, "still running %v after the stop: %s", c.grace, strings.Join(names, ", "))
}

// allEnded returns a channel that is closed when no goroutine is running.
func (c *Coordinator) allEnded() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	return c.idle
}

// names returns the names of the goroutines that are running.
func (c *Coordinator) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, len(c.running))
	for i, r := range c.running {
		names[i] = r.name
	}
	return names
}

// failure returns the error of the stop, or nil.
func (c *Coordinator) failure() error {
	if c.ctx.Err() == nil {
		return nil
	}
	var s stopped
	if errors.As(context.Cause(c.ctx), &s) {
		return s.err
	}
	return millrace.Canceled(c.parent, "")
}
