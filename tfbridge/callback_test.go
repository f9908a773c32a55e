package tfbridge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

// goOp adds a Go function with one int64 result to a graph.
func (b *build) goOp(name string, fn func(*Call), args ...Output) Output {
	b.t.Helper()
	c, err := b.g.AddCallback(fn, &CallbackOptions{Name: name, DTypes: []DataType{Int64}, Shapes: []Shape{ScalarShape()}})
	if err != nil {
		b.t.Fatal(err)
	}
	session := b.out(OpSession, name+"/session", nil)
	attrs := c.Attrs()
	types := []DataType{}
	for _, a := range args {
		types = append(types, a.DataType())
	}
	attrs["Tin"] = types
	return b.out(OpGo, name, attrs, session, OutputList(args))
}

// number makes a result.
func number(v int64) ([]*Tensor, error) {
	t, err := NewTensor(v)
	return []*Tensor{t}, err
}

func TestCallback(t *testing.T) {
	b := newBuild(t)
	double := b.goOp("double", Blocking(func(_ context.Context, args []*Tensor) ([]*Tensor, error) {
		return number(2 * args[0].Value().(int64))
	}), b.constant("x", int64(21)))
	if got := run1(t, b.session(), nil, double); got != int64(42) {
		t.Errorf("got %v, want 42", got)
	}
}

// A call that ends twice, or while its session closes, ends once.
func TestCallEndsOnce(t *testing.T) {
	b := newBuild(t)
	out := b.goOp("f", func(c *Call) {
		r, err := number(1)
		if err != nil {
			t.Error(err)
		}
		c.Return(r...)
		c.Fail(errors.New("late"))
		c.End()
	})
	if got := run1(t, b.session(), nil, out); got != int64(1) {
		t.Errorf("got %v, want 1", got)
	}
}

func TestClosedCallback(t *testing.T) {
	b := newBuild(t)
	c, err := b.g.AddCallback(func(c *Call) { c.End() }, &CallbackOptions{Name: "f"})
	if err != nil {
		t.Fatal(err)
	}
	before := LiveKinds()["callback"]
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := LiveKinds()["callback"]; n != before-1 {
		t.Errorf("%d callbacks live, want %d", n, before-1)
	}
	attrs := c.Attrs()
	attrs["Tin"] = []DataType{}
	op := b.op(OpSpec{Type: OpGo, Name: "f", Attrs: attrs, Input: []Input{b.constant("s", int64(0)), OutputList{}}})
	_, err = b.session().Run(nil, nil, []*Operation{op})
	if !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("got %v, want class %v", err, millrace.ErrClosed)
	}
}

// Closing a session ends the context of its calls, and closes even if a function
// ignores its context, which is reported.
func TestSessionCloseEndsCalls(t *testing.T) {
	for _, ignores := range []bool{false, true} {
		t.Run(fmt.Sprint("ignores=", ignores), func(t *testing.T) {
			b := newBuild(t)
			entered, leave := make(chan struct{}), make(chan struct{})
			out := b.goOp("slow", Blocking(func(ctx context.Context, _ []*Tensor) ([]*Tensor, error) {
				close(entered)
				if ignores {
					<-leave
				} else {
					<-ctx.Done()
				}
				return nil, context.Cause(ctx)
			}))
			sess := b.session()
			failed := make(chan error)
			go func() {
				_, err := sess.Run(nil, []Output{out}, nil)
				failed <- err
			}()
			<-entered
			err := sess.Close()
			if (err != nil) != ignores {
				t.Errorf("Close: %v", err)
			}
			if ignores {
				wantText(t, err.Error(), `"slow"`, "ignore")
				if Overdue() != 1 {
					t.Errorf("%d overdue, want 1", Overdue())
				}
			}
			if err := <-failed; !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("Run: got %v, want class %v", err, millrace.ErrClosed)
			}
			close(leave)
			sess.calls.settle()
			if Overdue() != 0 {
				t.Errorf("%d overdue, want 0", Overdue())
			}
		})
	}
}

// Limited calls run a few at a time, the others wait; closing the session ends running
// and waiting calls.
func TestLimitedCalls(t *testing.T) {
	const limit, calls = 2, 8
	b := newBuild(t)
	entered, leave := make(chan struct{}, calls), make(chan struct{})
	var running, most atomic.Int64
	fn := Limited(limit, func(ctx context.Context, args []*Tensor) ([]*Tensor, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		entered <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return number(args[0].Value().(int64))
	})
	var outs []Output
	for i := range calls {
		outs = append(outs, b.goOp(fmt.Sprint("f", i), fn, b.constant(fmt.Sprint("x", i), int64(i))))
	}
	run := func(sess *Session) chan error {
		ended := make(chan error, 1)
		go func() {
			got, err := sess.Run(nil, outs, nil)
			for i, r := range got {
				if v := r.Value(); v != int64(i) {
					err = errors.Join(err, fmt.Errorf("call %d returned %v", i, v))
				}
			}
			closeAll(got)
			ended <- err
		}()
		return ended
	}

	ended := run(b.session())
	for range limit {
		<-entered
	}
	close(leave)
	if err := <-ended; err != nil || most.Load() != limit {
		t.Errorf("%v; %d calls at a time, want %d", err, most.Load(), limit)
	}

	leave = make(chan struct{})
	for len(entered) > 0 {
		<-entered
	}
	sess := b.session()
	ended = run(sess)
	<-entered
	if err := sess.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-ended; !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("the run of a closed session: %v, want class %v", err, millrace.ErrClosed)
	}
}

// A function that ends its goroutine fails its call, and the next call is served.
func TestFunctionEndsItsGoroutine(t *testing.T) {
	b := newBuild(t)
	out := b.goOp("f", Limited(1, func(_ context.Context, args []*Tensor) ([]*Tensor, error) {
		if args[0].Value().(int64) == 0 {
			runtime.Goexit()
		}
		return number(1)
	}), b.op(OpSpec{Type: "Placeholder", Name: "x", Attrs: map[string]any{"dtype": Int64, "shape": ScalarShape()}}).Output(0))
	sess := b.session()
	for x := range int64(2) {
		in, err := NewTensor(x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := sess.Run(map[Output]*Tensor{b.g.Operation("x").Output(0): in}, []Output{out}, nil)
		if (x == 0) != errors.Is(err, millrace.ErrInternal) || (x == 1) != (err == nil) {
			t.Errorf("x=%d: %v", x, err)
		}
		closeAll(got)
		in.Close()
	}
}

// settle waits for the session's work without a limit.
func (s *sessionCalls) settle() {
	s.mu.Lock()
	if len(s.work) == 0 {
		s.mu.Unlock()
		return
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	<-idle
}

// Go functions can run sessions while runs that wait for them take all slots, both with
// the context of the call and without.
func TestNestedRuns(t *testing.T) {
	testruntime.Need(t)
	inner := newBuild(t)
	innerOut, innerSess := inner.constant("x", int64(7)), inner.session()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("context lost=", lost), func(t *testing.T) {
			b := newBuild(t)
			const places, callers = 4, 8
			all := blocking
			blocking = make(limiter, places)
			defer func() { blocking = all }()
			var waiting atomic.Int64
			full := make(chan struct{})
			out := b.goOp("nest", Blocking(func(ctx context.Context, _ []*Tensor) ([]*Tensor, error) {
				if waiting.Add(1) == places {
					close(full)
				}
				<-full
				if lost {
					ctx = context.Background()
				}
				return innerSess.RunContext(ctx, nil, []Output{innerOut}, nil)
			}))
			sess := b.session()
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					r, err := sess.Run(nil, []Output{out}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					r[0].Close()
				})
			}
			wg.Wait()
		})
	}
}

// An OutOfRange from other data is not the end of this dataset, and an error keeps its
// class whatever its text is.
func TestRememberedErrors(t *testing.T) {
	tests := []struct {
		name string
		err  error
		is   []error
		not  error
	}{
		{"end of data", fmt.Errorf("read: %w", OutOfRange), []error{millrace.ErrIO}, OutOfRange},
		{"data that looks like a mark", errors.New("[go error 1]"), []error{millrace.ErrIO}, nil},
		{"class", millrace.Errorf(millrace.ErrCorrupt, "bad"), []error{millrace.ErrCorrupt, DataLoss}, nil},
		{"nul", errors.New("a\x00b"), []error{millrace.ErrIO, Unknown}, nil},
		{"canceled", context.Canceled, []error{millrace.ErrCanceled, context.Canceled}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBuild(t)
			out := b.goOp("f", func(c *Call) { c.Fail(test.err) })
			_, err := b.session().Run(nil, []Output{out}, nil)
			for _, is := range test.is {
				if !errors.Is(err, is) {
					t.Errorf("got %v, want it to be %v", err, is)
				}
			}
			if test.not != nil && errors.Is(err, test.not) {
				t.Errorf("%v is %v", err, test.not)
			}
			if err == nil || err.Error() != test.err.Error() {
				t.Errorf("text %q, want %q", err, test.err)
			}
		})
	}
}

// A token ends with its last reference, and a copy of its value is not the token.
func TestToken(t *testing.T) {
	testruntime.Need(t)
	dropped := make(chan struct{})
	token, err := NewToken("owner", func() { close(dropped) })
	if err != nil {
		t.Fatal(err)
	}
	if got := FindToken(token); got != "owner" {
		t.Errorf("FindToken: got %v", got)
	}
	copied := newTestTensor(t, token.Value())
	if got := FindToken(copied); got != nil {
		t.Errorf("FindToken of a copy: got %v", got)
	}
	token.Close()
	<-dropped
	if got := FindToken(copied); got != nil {
		t.Errorf("FindToken of a copy afterwards: got %v", got)
	}
}
