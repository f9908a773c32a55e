package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"runtime"
	"sync"

	"millrace"
)

// Session runs the operations of a graph. Many goroutines may run it at a
// time, and it may be closed at any time.
type Session struct {
	h       *handle[*C.TF_Session]
	g       *Graph
	once    sync.Once
	closing chan struct{} // closed when Close begins
	freed   chan struct{} // closed when the C object is gone
	calls   *sessionCalls
	runs    sync.Pool // of *run, between runs
	guards  guardPool // what interrupts runs
	planner planner   // what Run has prepared
}

// NewSession returns a session on a graph. Operations may be added to the
// graph later.
//
// It wraps TF_NewSession.
func NewSession(g *Graph, o *SessionOptions) (*Session, error) {
	if err := g.hold(); err != nil {
		return nil, err
	}
	defer g.release()
	opts, err := o.c()
	if err != nil {
		return nil, err
	}
	defer C.TF_DeleteSessionOptions(opts)
	var p *C.TF_Session
	if err := check("TF_NewSession", func(st *C.TF_Status) { p = C.TF_NewSession(g.ptr(), opts, st) }); err != nil {
		return nil, err
	}
	return adoptSession(p, g), nil
}

// adoptSession makes a Session that owns p.
func adoptSession(p *C.TF_Session, g *Graph) *Session {
	freed := make(chan struct{})
	calls := newSessionCalls()
	sessionsByPtr.Store(sessionToken(p), calls)
	s := &Session{g: g, closing: make(chan struct{}), freed: freed, calls: calls}
	s.h = own(s, kindSession, p, func(p *C.TF_Session) {
		calls.stop()    // else a run that waits for Go would go on
		closeSession(p) // TF_DeleteSession alone leaves that to the last reader
		st := C.TF_NewStatus()
		sessionsByPtr.Delete(sessionToken(p)) // before another session gets its address
		C.TF_DeleteSession(p, st)
		C.TF_DeleteStatus(st)
		close(freed)
	})
	return s
}

// closeSession cancels what runs in a session. Its status says nothing that a
// caller could act on.
func closeSession(p *C.TF_Session) {
	st := C.TF_NewStatus()
	C.TF_CloseSession(p, st)
	C.TF_DeleteStatus(st)
}

// Close cancels the runs in flight, whose callers get an error of class
// millrace.ErrClosed, waits for them and frees the session. Calls after the
// first, or beside it, wait too. The error says which Go functions that the
// session called ignore their context and run on; it is closed all the same.
//
// It wraps TF_CloseSession and TF_DeleteSession.
func (s *Session) Close() error {
	if s == nil || s.h == nil {
		return nil
	}
	s.once.Do(func() {
		close(s.closing)
		s.calls.stop()
		if s.h.hold() { // it may have been freed by Close of the handle alone
			closeSession(s.h.p)
			s.h.release()
		}
		s.h.Close()
	})
	<-s.freed
	runtime.KeepAlive(s)
	return s.calls.wait()
}

// Run runs the part of the graph that fetches and targets need, with feeds in
// the place of what the graph would compute, and returns the fetches. The
// caller closes them. A feed may have another shape than the graph says, as
// long as the operations can do with it; [Session.Prepare] is stricter.
//
// It wraps TF_SessionRun.
func (s *Session) Run(feeds map[Output]*Tensor, fetches []Output, targets []*Operation) ([]*Tensor, error) {
	return s.RunContext(context.Background(), feeds, fetches, targets)
}

// Graph returns the graph that the session runs, nil for no session.
func (s *Session) Graph() *Graph {
	if s == nil {
		return nil
	}
	return s.g
}

// ListDevices returns the devices that the session can use.
//
// It wraps TF_SessionListDevices.
func (s *Session) ListDevices() ([]Device, error) {
	if s == nil || !s.h.hold() {
		return nil, errClosed("session")
	}
	defer s.h.release()
	var list *C.TF_DeviceList
	err := check("TF_SessionListDevices", func(st *C.TF_Status) { list = C.TF_SessionListDevices(s.h.p, st) })
	if err != nil {
		return nil, err
	}
	defer C.TF_DeleteDeviceList(list)
	return devices(list)
}

// check fails when there is no session or it is closed.
func (s *Session) check() error {
	if s == nil || !s.h.isOpen() {
		return errClosed("session")
	}
	select {
	case <-s.closing:
		return errClosed("session")
	default:
		return nil
	}
}

// wrapRun turns the failure of a run into what the caller should see: one that
// Close caused says so, for TensorFlow calls it the end of the data.
func (s *Session) wrapRun(err error) error {
	select {
	case <-s.closing:
		return millrace.Errorf(millrace.ErrClosed, "session was closed during the run")
	default:
		return err
	}
}
