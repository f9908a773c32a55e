package tfbridge

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"millrace"
	"millrace/internal/test/testruntime"
)

// A run that ignores cancellation does not block Close: Close returns an error that
// names the operation, and the run frees the session when it ends.
func TestCloseBesideUnstage(t *testing.T) {
	testruntime.Need(t)
	out, ok := child(t, "unstage")
	if !ok {
		t.Errorf("child failed: %s", out)
	}
	wantText(t, out, "Close: the session is closed, but TensorFlow has not ended these runs within 20ms: [unstage:0];",
		"again: true", "live: map[graph:0 session:1]", "a new run: closed")
}

// unstageChild closes a session while a run waits for another run to stage something.
// The thread of that run stays, so it runs in a separate process.
func unstageChild() {
	b := &build{t: &testing.T{}, g: NewGraph()}
	unstage := b.out("Unstage", "unstage", map[string]any{"dtypes": []DataType{Int32}, "container": "", "shared_name": "area"})
	var s *Session
	var err error
	for yields := 1; err == nil && yields < 1<<20; yields *= 2 {
		s, err = closeBesideRun(b.g, unstage, yields)
	}
	fmt.Println("Close:", err)
	fmt.Println("again:", errors.Is(s.Close(), err))
	b.g.Close()
	kinds := LiveKinds()
	fmt.Println("live:", map[string]int64{"session": kinds["session"], "graph": kinds["graph"]})
	_, err = s.Run(nil, []Output{unstage}, nil)
	fmt.Println("a new run:", class(err))
}

// closeBesideRun closes a session some time after a run of it has begun. If the
// operation does not run yet, TensorFlow does not start it, and Close succeeds.
func closeBesideRun(g *Graph, o Output, yields int) (*Session, error) {
	s, err := NewSession(g, &SessionOptions{CloseTimeout: 20 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	go s.Run(nil, []Output{o}, nil)
	for len(blocking) == 0 {
		runtime.Gosched()
	}
	for range yields {
		runtime.Gosched()
	}
	return s, s.Close()
}

// class returns the class of an error.
func class(err error) millrace.Class {
	var e *millrace.Error
	errors.As(err, &e)
	return e.Class
}

// A run that ends after Close has given up frees the session and its values.
func TestRunEndsAfterClose(t *testing.T) {
	b := newBuild(t)
	calls := make(chan *Call, 1)
	out := b.goOp("slow", func(c *Call) { calls <- c })
	s, err := NewSession(b.g, &SessionOptions{CloseTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := s.Run(nil, []Output{out}, nil)
		failed <- err
	}()
	call := <-calls
	open := LiveKinds()["session"]
	if err := s.Close(); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("Close beside a run: %v", err)
	}
	b.g.Close() // the run continues in it
	if got := LiveKinds()["session"]; got != open {
		t.Errorf("%d sessions, want %d: the run still uses its session", got, open)
	}
	call.Return(b.tensor(int64(1)))
	if err := <-failed; err != nil && !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("the late run: %v", err)
	}
	if got := LiveKinds()["session"]; got != open-1 {
		t.Errorf("%d sessions after the run, want %d", got, open-1)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close after the run: %v", err)
	}
}

// Close waits for a run that ends in time.
func TestCloseWaitsForRuns(t *testing.T) {
	b := newBuild(t)
	calls := make(chan *Call, 1)
	out := b.goOp("slow", func(c *Call) { calls <- c })
	s := b.session()
	go s.Run(nil, []Output{out}, nil)
	call, closed := <-calls, make(chan error)
	go func() { closed <- s.Close() }()
	<-s.closing
	select {
	case err := <-closed:
		t.Fatalf("Close did not wait for the run: %v", err)
	default:
	}
	call.Fail(errors.New("late"))
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}
