package tfbridge

import (
	"context"
	"runtime"
	"sync"
	"testing"
)

// Go computes with denormal numbers in calls from TensorFlow's threads, which flush
// them to zero, and in threads that Go starts from there.
func TestCallsKeepDenormals(t *testing.T) {
	const threads = 32
	smallest := float32(1e-44)
	var mu sync.Mutex
	lost := map[string]int{}
	check := func(where string) {
		if float64(smallest) != 0 && smallest*2 != 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		lost[where]++
	}
	b := newBuild(t)
	out := b.goOp("f", func(c *Call) {
		check("in the call")
		var started, done sync.WaitGroup
		release := make(chan struct{})
		for range threads {
			started.Add(1)
			done.Go(func() {
				runtime.LockOSThread() // the thread ends with the goroutine
				started.Done()
				<-release
				check("in a thread that was started")
			})
		}
		started.Wait()
		close(release)
		done.Wait()
		Blocking(func(context.Context, []*Tensor) ([]*Tensor, error) { return number(1) })(c)
	})
	s := b.session()
	for range 5 {
		if got := run1(t, s, nil, out); got != int64(1) {
			t.Errorf("got %v, want 1", got)
		}
	}
	for where, n := range lost {
		t.Errorf("%s %d numbers were taken for zero", where, n)
	}
}
