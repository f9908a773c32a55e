package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"millrace"
)

// sessionCalls is what Go does for one session: calls that its operations
// made, and goroutines that these started.
type sessionCalls struct {
	ctx    context.Context // ends when the session closes
	cancel context.CancelCauseFunc

	mu   sync.Mutex
	work map[*work]bool
	idle chan struct{} // closed when there is none, if someone waits
}

// work is a goroutine that runs for a session.
type work struct {
	name string
	late bool // told to end, and not back in time
}

// calling marks contexts of calls.
type calling struct{}

func newSessionCalls() *sessionCalls {
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), calling{}, true))
	return &sessionCalls{ctx: ctx, cancel: cancel, work: map[*work]bool{}}
}

// strays does the work of sessions that have none: those of a server.
var strays = sync.OnceValue(newSessionCalls)

// sessionToken is the number by which a session's kernels know it.
func sessionToken(p *C.TF_Session) int64 { return int64(uintptr(unsafe.Pointer(p))) }

// callsOf returns the calls of the session whose token t is.
func callsOf(t *Tensor) *sessionCalls {
	if values, err := View[int64](t); err == nil && len(values) == 1 {
		if s, ok := sessionsByPtr.Load(values[0]); ok {
			return s.(*sessionCalls)
		}
	}
	return strays()
}

// patience is how long a session that closes waits for its Go functions.
const patience = 50 * time.Millisecond

// overdue counts work that was told to end and goes on.
var overdue atomic.Int64

// Overdue reports how many Go functions run although the session that they ran
// for was closed, because they ignore their context. It is a count of bugs,
// each of which holds a goroutine and its memory.
func Overdue() int64 { return overdue.Load() }

// Go runs fn in a goroutine, with a context that ends when the session is
// closed; Close then waits for fn a moment. The name is for the error of a
// Close that waited in vain. A panic of fn ends the process, as in any
// goroutine.
func (c *Call) Go(name string, fn func(ctx context.Context)) {
	c.session.run(name, fn)
}

func (s *sessionCalls) run(name string, fn func(ctx context.Context)) {
	w := &work{name: name}
	s.mu.Lock()
	s.work[w] = true
	s.mu.Unlock()
	go func() {
		defer s.done(w)
		fn(s.ctx)
	}()
}

// done notes that work has ended.
func (s *sessionCalls) done(w *work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.work, w)
	if w.late {
		overdue.Add(-1)
	}
	if len(s.work) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// stop ends the context of the session's work.
func (s *sessionCalls) stop() {
	s.cancel(errClosed("session"))
}

// wait waits for the work to end, and reports what does not.
func (s *sessionCalls) wait() error {
	s.mu.Lock()
	if len(s.work) == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
		return nil
	case <-timer.C:
		return s.reportLate()
	}
}

// reportLate names the work that goes on.
func (s *sessionCalls) reportLate() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.work) == 0 {
		return nil
	}
	names := map[string]bool{}
	for w := range s.work {
		names[fmt.Sprintf("%q", w.name)] = true
		if !w.late {
			w.late = true
			overdue.Add(1)
		}
	}
	return millrace.Errorf(millrace.ErrInternal, "session is closed, but %d Go functions run on and ignore their context: %s",
		len(s.work), strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// CallFunc is a Go function for an operation. It may block and run sessions,
// and should return when ctx ends. The arguments are valid until it returns;
// the results are closed for it.
type CallFunc func(ctx context.Context, args []*Tensor) ([]*Tensor, error)

// Blocking makes a callback of a function that takes its time: each call is a
// goroutine. A panic is an error of class millrace.ErrInternal with the stack.
// When the session is closed the call ends, even if the function does not.
func Blocking(fn CallFunc) func(*Call) {
	return func(c *Call) {
		c.keepArgs = true
		c.Go(c.fn.name, func(ctx context.Context) {
			defer closeAll(c.args)
			stop := context.AfterFunc(ctx, func() { c.Fail(errCanceled(ctx)) })
			defer stop()
			results, err := c.fn.try(ctx, fn, c.args)
			if err != nil {
				c.Fail(err)
				return
			}
			c.Return(results...)
		})
	}
}

// try calls fn and turns a panic into an error.
func (c *Callback) try(ctx context.Context, fn CallFunc, args []*Tensor) (results []*Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(c.name, r)
		}
	}()
	return fn(ctx, args)
}

// panicked is the failure of a function that panicked. It is called by the
// deferred function that recovered.
func panicked(name string, value any) error {
	e := PanicError(value)
	e.Loader = name
	return e
}

// PanicError returns an error of class millrace.ErrInternal for what recover
// returned, with the stack of the panic. The deferred function that recovers
// calls it.
func PanicError(value any) *millrace.Error {
	return millrace.Errorf(millrace.ErrInternal, "panic: %v\n%s", value, debug.Stack())
}
