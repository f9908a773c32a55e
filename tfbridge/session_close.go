package tfbridge

// #include "capi.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"millrace"
)

// # Closing a session during its runs
//
// The question. Close cancels the runs in flight, and the session may be freed only
// when they have ended. Most operations notice a cancellation. Some never do: Unstage
// waits for another run to stage something, and no other run can begin once the session
// is closed. A Close that waits for such a run waits forever.
//
// The answer. A thread in TensorFlow cannot be stopped from outside, so Close
// stops waiting. The session is then left to the blocked run, by the reference
// that each run holds (handle.go):
//
//	refs   2           3           2                2         1           0
//	     run begins  Close holds  owner's is     timeout:   Close     the run ends:
//	                 one too      given back     error      leaves    free
//
// If the run never ends, the session is never freed: Live counts it, and the run
// keeps its values, its slot of the limiter and a thread. Nothing that TensorFlow
// may still touch is freed.
//
// Close holds a reference while it waits, so that it can read the names of the
// operations that the blocked runs compute.

// closeTimeout is the default time that Close waits for runs.
const closeTimeout = 5 * time.Second

// Close cancels the runs in flight, waits for them and frees the session. Their
// callers get an error of class millrace.ErrClosed. Concurrent and later calls
// of Close wait too.
//
// Close waits up to SessionOptions.CloseTimeout. If a run has not ended by then,
// because an operation ignores the cancellation (Unstage does) or computes for
// long, Close returns an error of class millrace.ErrModel that names what the
// run computes. The run then frees the session when it ends. If a Go function
// that the session called ignores its context and does not return, the error
// names it. In either case the session is closed.
//
// It wraps TF_CloseSession and TF_DeleteSession.
func (s *Session) Close() error {
	if s == nil || s.h == nil {
		return nil
	}
	s.once.Do(s.close)
	defer runtime.KeepAlive(s)
	select {
	case <-s.freed:
		return s.calls.wait()
	default:
	}
	if late := s.calls.wait(); late != nil {
		return errors.Join(s.blocked, late)
	}
	return s.blocked
}

// close does the work of the first Close. It returns when the session is freed,
// or sets s.blocked.
func (s *Session) close() {
	close(s.closing)
	s.calls.stop()
	held := s.h.hold() // a Close of the handle alone may have freed it
	if held {
		closeSession(s.h.p)
	}
	s.h.Close() // no run begins after this
	if held {
		if !s.inFlight.wait(s.closeTimeout) {
			s.blocked = s.inFlight.describe(s.closeTimeout)
		}
		s.h.release()
	}
	if s.blocked == nil {
		<-s.freed
	}
}

// closeSession cancels the runs of a session. It ignores the status, on which
// no caller could act.
func closeSession(p *C.TF_Session) {
	st := C.TF_NewStatus()
	C.TF_CloseSession(p, st)
	C.TF_DeleteStatus(st)
}

// runList is the list of a session's runs in flight.
type runList struct {
	mu    sync.Mutex
	first *run
	idle  chan struct{} // closed when the list is empty; nil if no goroutine waits
}

// add adds a run that begins.
func (l *runList) add(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.next, r.previous = l.first, nil
	if l.first != nil {
		l.first.previous = r
	}
	l.first = r
}

// remove removes a run that has ended.
func (l *runList) remove(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.previous != nil {
		r.previous.next = r.next
	} else {
		l.first = r.next
	}
	if r.next != nil {
		r.next.previous = r.previous
	}
	r.next, r.previous = nil, nil
	if l.first == nil && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// wait waits until no run is in flight. It returns false when the timeout has
// passed before that.
func (l *runList) wait(timeout time.Duration) bool {
	l.mu.Lock()
	if l.first == nil {
		l.mu.Unlock()
		return true
	}
	idle := make(chan struct{})
	l.idle = idle
	l.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}

// AbandonedRun is a run that TensorFlow has not ended although its context is done.
type AbandonedRun struct {
	Since    time.Time // when its caller stopped waiting
	Computes string    // names of its fetches and targets
}

// Abandoned returns the runs whose callers no longer wait for them. Each holds a thread
// and its values until TensorFlow ends it.
func (s *Session) Abandoned() []AbandonedRun {
	if s == nil || !s.h.hold() {
		return nil
	}
	defer s.h.release()
	return s.inFlight.abandonedRuns()
}

// abandon records that the caller of a run has stopped waiting.
func (l *runList) abandon(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.abandoned = time.Now()
}

// abandonedRuns lists the runs whose callers have stopped waiting. The caller holds a
// reference to the session.
func (l *runList) abandonedRuns() (all []AbandonedRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := l.first; r != nil; r = r.next {
		if !r.abandoned.IsZero() {
			all = append(all, AbandonedRun{Since: r.abandoned, Computes: r.c.describe()})
		}
	}
	return all
}

// describe returns an error that names the operations of the runs in flight, nil if
// there are none. The caller holds a reference to the session, which keeps the
// operations.
func (l *runList) describe(timeout time.Duration) error {
	const most = 5
	l.mu.Lock()
	defer l.mu.Unlock()
	n, names := 0, []string{}
	for r := l.first; r != nil; r = r.next {
		if n++; n <= most {
			names = append(names, r.c.describe())
		}
	}
	if n == 0 {
		return nil
	}
	if n > most {
		names = append(names, fmt.Sprintf("%d more", n-most))
	}
	return millrace.Errorf(millrace.ErrModel, "the session is closed, but TensorFlow has not ended these runs within %v: %s; they free the session when they end",
		timeout, strings.Join(names, ", "))
}

// describe names the operations that c computes. The caller holds a reference to the
// session.
func (c *Callable) describe() string {
	var names []string
	for _, o := range c.out {
		names = append(names, fmt.Sprintf("%s:%d", C.GoString(C.TF_OperationName(o.oper)), int(o.index)))
	}
	for _, op := range c.targets {
		if name := C.GoString(C.TF_OperationName(op)); !strings.HasPrefix(name, guardPrefix) {
			names = append(names, name)
		}
	}
	return "[" + strings.Join(names, " ") + "]"
}
