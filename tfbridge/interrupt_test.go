package tfbridge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/internal/test/testruntime"
)

// endless adds a while loop that counts forever.
func endless(b *build) Output {
	b.t.Helper()
	function := func(name string, of func(body *build, x Output) Output) {
		body := newBuild(b.t)
		x := body.placeholder("x", Int64, ScalarShape())
		f, err := NewFunction(body.g, name, []Output{x}, []Output{of(body, x)}, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		defer f.Close()
		if err := b.g.AddFunction(f); err != nil {
			b.t.Fatal(err)
		}
	}
	function("more", func(body *build, x Output) Output {
		return body.out("GreaterEqual", "ge", nil, x, body.constant("zero", int64(0)))
	})
	function("count", func(body *build, x Output) Output {
		return body.out("AddV2", "add", nil, x, body.constant("one", int64(1)))
	})
	return b.out("While", "loop", map[string]any{"T": []DataType{Int64}, "cond": FuncName("more"), "body": FuncName("count")},
		OutputList{b.constant("start", int64(0))})
}

// soon reports whether ok becomes true within a minute.
func soon(ok func() bool) bool {
	for end := time.Now().Add(time.Minute); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// An endless loop can be interrupted in either kind of session.
func TestInterruptLoop(t *testing.T) {
	b := newBuild(t)
	loop := endless(b)
	p := b.placeholder("p", Float, Shape{})
	y := b.out("Identity", "y", nil, p)
	for name, o := range map[string]*RunOptions{"pool": {Interrupt: true}, "inline": {Interrupt: true, Inline: true}} {
		t.Run(name, func(t *testing.T) {
			s := b.session()
			c, err := s.PrepareRun(nil, []Output{loop}, nil, o)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if _, err := s.takeGuard(); err != nil { // a new guard for each run
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				if _, err := c.Run(ctx, nil); !errors.Is(err, millrace.ErrCanceled) {
					t.Errorf("an endless loop: %v", err)
				}
				cancel()
				if !soon(func() bool { return len(blocking) == 0 }) {
					t.Fatal("the loop goes on in TensorFlow")
				}
				if got := run1(t, s, map[Output]*Tensor{p: b.tensor(float32(3))}, y); got != float32(3) {
					t.Errorf("the next run gives %v", got)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A machine with one processor interrupts loops too. The child is started by a
// thread that may use one, and the child inherits that.
func TestInterruptLoopOnOneProcessor(t *testing.T) {
	testruntime.Need(t)
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Skip(err)
	}
	for i := 0; one.Count() == 0; i++ {
		if all.IsSet(i) {
			one.Set(i)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	if out, ok := child(t, "loop"); !ok || out != "1 processor\ndone\n" {
		t.Errorf("child\n got %s", out)
	}
}

// loopChild interrupts an endless loop in a session with the default options.
func loopChild() {
	b := &build{t: &testing.T{}, g: NewGraph()}
	loop := endless(b)
	s, err := NewSession(b.g, nil)
	if err != nil {
		report(err)
		return
	}
	fmt.Println(runtime.NumCPU(), "processor")
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := s.RunContext(ctx, nil, []Output{loop}, nil); !errors.Is(err, millrace.ErrCanceled) {
		fmt.Println(err)
	}
	if soon(func() bool { return len(blocking) == 0 }) {
		fmt.Println("done")
	}
}

// Interrupted runs leak nothing, however many there are, and the session keeps working.
func TestInterrupt(t *testing.T) {
	b := newBuild(t)
	_, get := emptyQueue(b)
	p := b.placeholder("p", Float, Shape{})
	y := b.out("Identity", "y", nil, p)
	both := b.op(OpSpec{Type: "NoOp", Name: "both", ControlDependencies: []*Operation{get.Op, y.Op}})
	s := b.session()
	c, err := s.PrepareRun([]Output{p}, []Output{y}, []*Operation{both}, &RunOptions{Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	x := b.tensor(float32(3))
	rounds := 1000
	if stress || testing.Short() {
		rounds = 10
	}
	live, tasks, goroutines := Live(), 0, 0
	for i := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.Run(ctx, []*Tensor{x})
			done <- err
		}()
		if i%2 == 0 {
			for len(blocking) == 0 {
				runtime.Gosched()
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, millrace.ErrCanceled) {
			t.Fatalf("round %d: %v", i, err)
		}
		if got := run1(t, s, map[Output]*Tensor{p: x}, y); got != float32(3) {
			t.Fatalf("round %d: the next run gives %v", i, got)
		}
		if i == 9 {
			tasks, goroutines = threads(), runtime.NumGoroutine()
		}
	}
	for len(blocking) > 0 || Live() > live {
		runtime.Gosched() // the last runs are still ending
	}
	if n := threads(); n > tasks+8 {
		t.Errorf("%d threads, %d after ten rounds", n, tasks)
	}
	if n := runtime.NumGoroutine(); n > goroutines+8 {
		t.Errorf("%d goroutines, %d after ten rounds", n, goroutines)
	}
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	if n := len(s.guards.free); n > 4 {
		t.Errorf("%d guards for one run at a time", n)
	}
}

// A guard does not change the result or the error of a run that ends by itself.
func TestInterruptibleRunsEnd(t *testing.T) {
	b := newBuild(t)
	p := b.placeholder("p", Float, Shape{})
	y := b.out("CheckNumerics", "y", map[string]any{"message": "odd"}, p)
	s := b.session()
	for _, o := range []*RunOptions{{Interrupt: true}, {Interrupt: true, Inline: true}} {
		c, err := s.PrepareRun([]Output{p}, []Output{y}, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 20 {
					x := newTestTensor(t, float32(i))
					out, err := c.Run(ctx, []*Tensor{x})
					if err != nil {
						t.Error(err)
						return
					}
					if got := out[0].Value(); got != float32(i) {
						t.Errorf("got %v, want %d", got, i)
					}
					out[0].Close()
				}
			})
		}
		wg.Wait()
		zero := float32(0)
		if _, err := c.Run(ctx, []*Tensor{b.tensor(zero / zero)}); err == nil || !strings.Contains(err.Error(), "odd") {
			t.Errorf("a run that fails: %v", err)
		}
		out, err := c.Run(ctx, []*Tensor{b.tensor(float32(1))})
		if err != nil {
			t.Fatal(err)
		}
		out[0].Close()
		cancel()
	}
}

// Session.RunContext guards runs that may wait, but no run that reads an iterator.
func TestInterruptIsChosen(t *testing.T) {
	b := newBuild(t)
	_, get := emptyQueue(b)
	it := b.out("IteratorV2", "it", map[string]any{"shared_name": "", "container": "", "output_types": []DataType{Int32}, "output_shapes": []Shape{ScalarShape()}})
	next := b.out("IteratorGetNext", "next", map[string]any{"output_types": []DataType{Int32}, "output_shapes": []Shape{ScalarShape()}}, it)
	both := b.out("AddV2", "both", nil, get, next)
	plain := b.out("Neg", "plain", nil, b.constant("one", int32(1)))
	s := b.session()
	for name, tt := range map[string]struct {
		o    Output
		want bool
	}{"queue": {get, true}, "iterator": {next, false}, "both": {both, false}, "plain": {plain, false}} {
		if got := s.newGuards([]Output{tt.o}, nil).wanted(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.RunContext(ctx, nil, []Output{get}, nil); !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline: %v", err)
	}
	for len(blocking) > 0 {
		runtime.Gosched() // waits until TensorFlow has ended the run
	}
}

// Runs that wait at one queue can be interrupted one by one, even if an earlier run
// keeps waiting. TensorFlow keeps the interrupted ones in the queue's list, and would
// mistake the next run of the same thread for one of them.
func TestInterruptBehindAnother(t *testing.T) {
	b := newBuild(t)
	queue, get := emptyQueue(b)
	put := b.op(OpSpec{Type: "QueueEnqueueV2", Name: "put", Input: []Input{queue, OutputList{b.constant("five", int32(5))}}})
	s := b.session()
	first := make(chan error)
	go func() {
		out, err := s.Run(nil, []Output{get}, nil)
		closeAll(out)
		first <- err
	}()
	for len(blocking) == 0 {
		runtime.Gosched()
	}
	c, err := s.PrepareRun(nil, []Output{get}, nil, &RunOptions{Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.Run(ctx, nil)
			done <- err
		}()
		for len(blocking) < 2 {
			runtime.Gosched()
		}
		cancel()
		if err := <-done; !errors.Is(err, millrace.ErrCanceled) {
			t.Fatalf("round %d: %v", i, err)
		}
		for len(blocking) > 1 {
			runtime.Gosched() // waits until it ends in TensorFlow too
		}
	}
	if _, err := s.Run(nil, nil, []*Operation{put}); err != nil {
		t.Fatal(err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}
