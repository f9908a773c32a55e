package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"errors"
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

// sessionCalls tracks the Go functions of one session: the goroutines that its calls
// started, and the context that ends them.
type sessionCalls struct {
	ctx    context.Context // cancelled when the session closes
	cancel context.CancelCauseFunc

	mu   sync.Mutex
	work map[*work]bool
	idle chan struct{} // closed when no work is left; nil if no goroutine waits
}

// work is a goroutine that runs for a session.
type work struct {
	name string
	late bool // still running after its context was cancelled and closeWait passed
}

// calling is the key that marks the contexts of calls.
type calling struct{}

func newSessionCalls() *sessionCalls {
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), calling{}, true))
	return &sessionCalls{ctx: ctx, cancel: cancel, work: map[*work]bool{}}
}

// unknownSession tracks calls whose session this package did not make, such as a
// server's.
var unknownSession = sync.OnceValue(newSessionCalls)

// sessionToken returns the number by which kernels refer to a session.
func sessionToken(p *C.TF_Session) int64 { return int64(uintptr(unsafe.Pointer(p))) }

// callsOf returns the calls of the session whose token is t.
func callsOf(t *Tensor) *sessionCalls {
	if values, err := View[int64](t); err == nil && len(values) == 1 {
		if s, ok := sessionsByPtr.Load(values[0]); ok {
			return s.(*sessionCalls)
		}
	}
	return unknownSession()
}

// closeWait is how long Close of a session waits for its Go functions.
const closeWait = 50 * time.Millisecond

// overdue counts work that ignores its cancelled context.
var overdue atomic.Int64

// Overdue reports how many Go functions still run although their session was
// closed, because they ignore their context. Each is a bug that holds a
// goroutine and its memory.
func Overdue() int64 { return overdue.Load() }

// Go runs fn in a goroutine, with a context that is cancelled when the session
// is closed. Close then waits up to 50 ms for fn; if fn has not returned, the
// error of Close contains name. A panic of fn ends the process, as in any
// goroutine.
func (c *Call) Go(name string, fn func(ctx context.Context)) {
	c.session.run(name, fn)
}

func (s *sessionCalls) run(name string, fn func(ctx context.Context)) {
	w := s.begin(name)
	go func() {
		defer s.done(w)
		fn(s.ctx)
	}()
}

// begin adds work. The caller ends it with done.
func (s *sessionCalls) begin(name string) *work {
	w := &work{name: name}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work[w] = true
	return w
}

// done removes work that has ended.
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

// stop cancels the context of the session's work.
func (s *sessionCalls) stop() {
	s.cancel(errClosed("session"))
}

// wait waits until the work has ended, and returns an error that names work that has not.
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
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-idle:
		return nil
	case <-timer.C:
		return s.reportLate()
	}
}

// reportLate returns an error that names the remaining work.
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
	return millrace.Errorf(millrace.ErrInternal, "the session is closed, but these Go functions ignore their context and still run: %s",
		strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// CallFunc is a Go function for an operation. It may block and run sessions. It
// should return when ctx is done. The arguments are valid until it returns. The
// caller closes the results. [ErrEndOfSequence] ends the call as [Call.End] does.
type CallFunc func(ctx context.Context, args []*Tensor) ([]*Tensor, error)

// ErrEndOfSequence is what a CallFunc returns at the end of a dataset.
var ErrEndOfSequence = errors.New("end of sequence")

// Blocking makes a callback of a function that may block: each call runs in its own
// goroutine. A panic becomes an error of class millrace.ErrInternal with the stack.
// When the session is closed the call ends, even if the function does not.
func Blocking(fn CallFunc) func(*Call) {
	return func(c *Call) {
		c.keepArgs = true
		c.Go(c.fn.name, func(context.Context) { c.serve(fn) })
	}
}

// serve calls fn, ends the call with the results and closes the arguments. If the
// session is closed, the call ends earlier.
func (c *Call) serve(fn CallFunc) {
	defer closeAll(c.args)
	ctx := c.session.ctx
	stop := context.AfterFunc(ctx, func() { c.Fail(millrace.Canceled(ctx, "")) })
	defer stop()
	defer func() { // it has no effect on a call that has ended
		c.Fail(millrace.Errorf(millrace.ErrInternal, "Go function %q ended its goroutine", c.fn.name))
	}()
	switch results, err := c.fn.try(ctx, fn, c.args); {
	case err == ErrEndOfSequence:
		c.End()
	case err != nil:
		c.Fail(err)
	default:
		c.Return(results...)
	}
}

// Limited is [Blocking] with at most n calls at a time, of all sessions
// together; n must be 1 or more. Further calls wait in a queue, first come first
// served, and hold neither a goroutine nor a thread. When their session is
// closed they end at once.
func Limited(n int, fn CallFunc) func(*Call) {
	q := &callQueue{limit: n, fn: fn}
	return q.add
}

// callQueue serves calls by a limited number of goroutines, which end when no call is
// waiting.
type callQueue struct {
	limit int
	fn    CallFunc

	mu      sync.Mutex
	serving int
	waiting []*queuedCall
}

// queuedCall is a waiting call. stop ends the watch on its session.
type queuedCall struct {
	*Call
	stop func() bool
}

// add serves a call as soon as a goroutine is free.
func (q *callQueue) add(c *Call) {
	c.keepArgs = true
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.serving < q.limit {
		q.serving++
		go q.serve(c)
		return
	}
	waiting := &queuedCall{Call: c}
	waiting.stop = context.AfterFunc(c.session.ctx, func() { q.cancel(waiting) })
	q.waiting = append(q.waiting, waiting)
}

// serve serves a call, and then the waiting calls.
func (q *callQueue) serve(c *Call) {
	defer func() {
		if c != nil { // the function called runtime.Goexit
			go q.serve(q.next())
		}
	}()
	for ; c != nil; c = q.next() {
		q.serveOne(c)
	}
}

// serveOne serves a call as work of its session.
func (q *callQueue) serveOne(c *Call) {
	w := c.session.begin(c.fn.name)
	defer c.session.done(w)
	c.serve(q.fn)
}

// next returns the call that has waited longest. It returns nil if there is
// none, and the goroutine ends.
func (q *callQueue) next() *Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.serving--
		return nil
	}
	c := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	c.stop()
	return c.Call
}

// cancel ends a waiting call whose session is closed.
func (q *callQueue) cancel(c *queuedCall) {
	q.mu.Lock()
	i := slices.Index(q.waiting, c)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i >= 0 {
		c.Fail(millrace.Canceled(c.session.ctx, ""))
		closeAll(c.args)
	}
}

// try calls fn, and returns a panic as an error.
func (c *Callback) try(ctx context.Context, fn CallFunc, args []*Tensor) (results []*Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(c.name, r)
		}
	}()
	return fn(ctx, args)
}

// panicked returns the error of a function that panicked. The deferred function
// that recovers calls it.
func panicked(name string, value any) error {
	e := PanicError(value)
	e.Loader = name
	return e
}

// PanicError returns an error of class millrace.ErrInternal with the recovered
// value and the stack of the panic. Call it from the deferred function that
// recovers.
func PanicError(value any) *millrace.Error {
	return millrace.Errorf(millrace.ErrInternal, "panic: %v\n%s", value, debug.Stack())
}
