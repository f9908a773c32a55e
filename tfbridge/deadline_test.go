package tfbridge

import (
	"context"
	"errors"
	"testing"
	"time"

	"millrace"
)

// endlessLowered adds a while loop that counts forever, which TensorFlow turns into
// operations of the graph around it. It has the same functions as endless.
func endlessLowered(b *build) Output {
	return b.out("While", "lowered", map[string]any{
		"T": []DataType{Int64}, "cond": FuncName("more"), "body": FuncName("count"), "_lower_using_switch_merge": true,
	}, OutputList{b.constant("begin", int64(0))})
}

// runMany makes n runs at once and checks that all are canceled and end.
func runMany(t *testing.T, c *Callable, n int, context func() (context.Context, context.CancelFunc)) {
	t.Helper()
	failed := make(chan error)
	for range n {
		go func() {
			ctx, cancel := context()
			defer cancel()
			out, err := c.Run(ctx, nil)
			closeAll(out)
			failed <- err
		}()
	}
	for range n {
		if err := <-failed; !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("an endless loop: %v", err)
		}
	}
	if !soon(func() bool { return len(blocking) == 0 }) {
		t.Fatalf("%d loops go on in TensorFlow", len(blocking))
	}
	if all := c.s.Abandoned(); len(all) != 0 {
		t.Errorf("runs that have ended are still listed: %v", all)
	}
}

// More endless loops than TensorFlow has threads end at the deadline of their context,
// because a guard's dequeue cannot get a thread.
func TestDeadlineEndsLoops(t *testing.T) {
	b := newBuild(t)
	for name, loop := range map[string]Output{"function": endless(b), "lowered": endlessLowered(b)} {
		for _, o := range []*RunOptions{{Interrupt: true}, {Interrupt: true, Inline: true}, {Interrupt: true, Timeout: time.Hour}} {
			t.Run(name, func(t *testing.T) {
				c, err := b.session().PrepareRun(nil, []Output{loop}, nil, o)
				if err != nil {
					t.Fatal(err)
				}
				runMany(t, c, 6, func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), 50*time.Millisecond)
				})
			})
		}
	}
}

// With a pool for loops, endless loops end when they are canceled, although they have
// no deadline and outnumber the processors.
func TestLoopPool(t *testing.T) {
	b := newBuild(t)
	for name, loop := range map[string]Output{"function": endless(b), "lowered": endlessLowered(b)} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSession(b.g, &SessionOptions{LoopPool: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c, err := s.PrepareRun(nil, []Output{loop}, nil, &RunOptions{Interrupt: true, Inline: true})
			if err != nil {
				t.Fatal(err)
			}
			runMany(t, c, 12, func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(50*time.Millisecond, cancel)
				return ctx, cancel
			})
		})
	}
	if _, err := NewSession(b.g, &SessionOptions{LoopPool: true, InterOpThreads: -1}); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("a pool for loops without a pool: %v", err)
	}
}

// TensorFlow may notice the deadline before the context does. The error is the
// same.
func TestDeadlineSeenFirst(t *testing.T) {
	b := newBuild(t)
	c, err := b.session().PrepareRun(nil, []Output{endless(b)}, nil, &RunOptions{Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = c.Run(early{ctx, time.Now().Add(20 * time.Millisecond)}, nil)
	if !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("got %v, the context's error is %v", err, ctx.Err())
	}
}

// early is a context that has a deadline but does not end at it.
type early struct {
	context.Context
	deadline time.Time
}

func (c early) Deadline() (time.Time, bool) { return c.deadline, true }

// Without RunOptions.Interrupt, only runs that may never end by themselves get guards.
func TestHazards(t *testing.T) {
	b := newBuild(t)
	_, get := emptyQueue(b)
	plain := b.out("Neg", "plain", nil, b.constant("one", int32(1)))
	cond := b.out("LoopCond", "cond", nil, b.constant("yes", true))
	s := b.session()
	hazardsOf := func(o Output) hazards { return s.newGuards([]Output{o}, nil).findHazards() }
	for name, tt := range map[string]struct {
		o    Output
		want hazards
	}{"plain": {plain, hazards{}}, "queue": {get, hazards{waits: true}}, "loop": {cond, hazards{loops: true}}} {
		if got := hazardsOf(tt.o); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
	endless(b) // a function of the library may belong to any run
	if got := hazardsOf(b.out("Neg", "later", nil, plain)); got != (hazards{}) {
		t.Errorf("functions without loops: got %+v", got)
	}
	if !b.g.MayLoop() {
		t.Error("a graph with a loop may not loop")
	}
}

// A run that continues after its context is done is listed until it ends.
func TestAbandoned(t *testing.T) {
	b := newBuild(t)
	calls := make(chan *Call, 1)
	out := b.goOp("slow", func(c *Call) { calls <- c })
	s := b.session()
	c, err := s.Prepare(nil, []Output{out}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := c.Run(ctx, nil)
		failed <- err
	}()
	call := <-calls
	if all := s.Abandoned(); len(all) != 0 {
		t.Errorf("a run that somebody waits for: %v", all)
	}
	cancel()
	if err := <-failed; !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("a canceled run: %v", err)
	}
	if all := s.Abandoned(); len(all) != 1 || all[0].Since.IsZero() || all[0].Computes != "[slow:0]" {
		t.Errorf("an abandoned run: %v", all)
	}
	call.Return(b.tensor(int64(1)))
	if !soon(func() bool { return len(s.Abandoned()) == 0 }) {
		t.Error("a run that has ended is still listed")
	}
}

// expiring is a context whose deadline passes when the test calls expire.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e *expiring) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }
func (e *expiring) Done() <-chan struct{}       { return e.done }
func (e *expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TensorFlow and the context notice a deadline at the same time: whichever is first,
// the error is the context's.
func TestDeadlineNoticedTwice(t *testing.T) {
	b := newBuild(t)
	c, err := b.session().PrepareRun(nil, []Output{b.constant("x", int64(0))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		ctx := &expiring{t.Context(), make(chan struct{})}
		r, err := c.begin(nil)
		if err != nil {
			t.Fatal(err)
		}
		r.options = []byte{} // marks the deadline as passed to TensorFlow
		_, err = runAsync(ctx, r, func(r *run) ([]*Tensor, error) {
			defer r.end()
			close(ctx.done)
			return nil, &Error{Code: DeadlineExceeded, Msg: "timed out"}
		}, nil)
		if !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the error of the context", err)
		}
	}
}
