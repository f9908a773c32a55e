package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"sync"
	"time"

	"millrace"
)

// Session runs the operations of a graph. Many goroutines may use it
// concurrently, and Close may be called at any time.
type Session struct {
	h       *handle[*C.TF_Session]
	g       *Graph
	once    sync.Once
	closing chan struct{} // closed when Close begins
	freed   chan struct{} // closed when the C object is gone
	calls   *sessionCalls
	runs    sync.Pool // holds *run values between runs

	inFlight     runList       // runs that hold a reference
	closeTimeout time.Duration // how long Close waits for these runs
	loopPool     bool          // see SessionOptions.LoopPool
	blocked      error         // error of the first Close, about runs that have not ended

	guards  guardPool // operations that interrupt runs
	planner planner   // runs that Run has prepared
}

// NewSession returns a session that runs a graph. Operations may be added to
// the graph later.
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
	return adoptSession(p, g, o), nil
}

// adoptSession makes a Session that owns p, which TensorFlow made with options o.
func adoptSession(p *C.TF_Session, g *Graph, o *SessionOptions) *Session {
	freed := make(chan struct{})
	calls := newSessionCalls()
	sessionsByPtr.Store(sessionToken(p), calls)
	s := &Session{g: g, closing: make(chan struct{}), freed: freed, calls: calls, closeTimeout: closeTimeout}
	if o != nil && o.CloseTimeout > 0 {
		s.closeTimeout = o.CloseTimeout
	}
	s.loopPool = o.pooled()
	s.h = own(s, kindSession, p, func(p *C.TF_Session) {
		calls.stop()    // otherwise a run that waits for a Go function would never end
		closeSession(p) // TF_DeleteSession alone does not cancel runs
		st := C.TF_NewStatus()
		sessionsByPtr.Delete(sessionToken(p)) // before another session gets its address
		C.TF_DeleteSession(p, st)
		C.TF_DeleteStatus(st)
		close(freed)
	})
	return s
}

// Run runs the part of the graph that fetches and targets need, and returns the
// fetches, which the caller closes. A feed replaces the value that the graph
// would compute. It may have another shape than the graph says, if the
// operations accept it; [Session.Prepare] is stricter.
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
		return nil, errUnusable("session", s)
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

// check returns an error if the session is nil or closed.
func (s *Session) check() error {
	if s == nil || !s.h.isOpen() {
		return errUnusable("session", s)
	}
	select {
	case <-s.closing:
		return errClosed("session")
	default:
		return nil
	}
}

// wrapRun returns the error that the caller of a failed run gets. If Close caused the
// failure, the error reports that: TensorFlow reports such a failure like the end of
// the data.
func (s *Session) wrapRun(err error) error {
	select {
	case <-s.closing:
		return millrace.Errorf(millrace.ErrClosed, "session was closed during the run")
	default:
		return err
	}
}
