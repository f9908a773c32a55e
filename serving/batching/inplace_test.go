package batching

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"millrace"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// obstinate is a doubler that can be made to ignore its context, like a kernel that computes. It
// records whether its last run was in a goroutine that asked.
type obstinate struct {
	doubler
	ran   chan struct{}                 // gets a value when a stuck run begins
	stuck atomic.Pointer[chan struct{}] // nil: runs end at once
	here  atomic.Bool
}

func (o *obstinate) Call(ctx context.Context, key string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	stack := make([]byte, 16<<10)
	o.here.Store(strings.Contains(string(stack[:runtime.Stack(stack, false)]), "batching.(*Batcher).Predict("))
	if wait := o.stuck.Load(); wait != nil {
		o.ran <- struct{}{}
		<-*wait
	}
	return o.doubler.Call(ctx, key, inputs, outputs...)
}

// brisk returns an obstinate model and its batcher, which has one thread.
func brisk(t *testing.T) (*obstinate, *Batcher) {
	m := &obstinate{doubler: doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}, ran: make(chan struct{})}
	return m, newBatcher(t, m, Options{})
}

// A lone request whose batch is expected to be brief runs in its own goroutine. When its context
// ends although the model does not, the thread goes to the next request, and nothing is lost.
func TestBriefBatches(t *testing.T) {
	testruntime.Need(t)
	noneLeft := leak.Objects(t, tfbridge.Live)
	m, b := brisk(t)
	predict := func(ctx context.Context) error {
		a := <-ask(ctx, b, []float32{1})
		return a.err
	}
	for range 100 {
		if err := predict(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	setCost(b, time.Microsecond)
	if err := predict(t.Context()); err != nil || !m.here.Load() {
		t.Errorf("a brief batch: %v, in the goroutine of its request: %v", err, m.here.Load())
	}
	setCost(b, time.Second)
	if err := predict(t.Context()); err != nil || m.here.Load() {
		t.Errorf("a long batch: %v, in the goroutine of its request: %v", err, m.here.Load())
	}
	setCost(b, time.Microsecond)
	release := make(chan struct{})
	m.stuck.Store(&release)
	ctx, cancel := context.WithCancel(t.Context())
	stuck := ask(ctx, b, []float32{2})
	<-m.ran
	m.stuck.Store(nil)
	cancel()
	if err := predict(t.Context()); err != nil { // the batcher has one thread
		t.Errorf("a request after a stuck one: %v", err)
	}
	close(release)
	if a := <-stuck; !errors.Is(a.err, millrace.ErrCanceled) {
		t.Errorf("a request that left a brief batch got %v", a)
	}
	b.Close()
	noneLeft()
}

// setCost waits until the batcher's threads are free, and sets the measured cost of a row.
func setCost(b *Batcher, cost time.Duration) {
	s := b.options.Scheduler
	for s.mu.Lock(); s.busy > 0; s.mu.Lock() {
		s.mu.Unlock()
		runtime.Gosched()
	}
	defer s.mu.Unlock()
	b.queue.costs.row, b.queue.costs.batches = float64(cost), enoughBatches
}
