package batching

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"millrace"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// flood sends requests to a batcher at a rate, each with a time until its deadline, 0
// for none. It returns how many were answered in time, how many were refused, and the
// longest wait of an answer.
func flood(t *testing.T, m *machine, o *Options, rate int, patience, lasts time.Duration) (answered, refused int64, longest time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Scheduler = NewScheduler(cap(m.cores))
		m.cores = make(chan struct{}, cap(m.cores))
		b, err := New(m, "", o)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		var yes, no, most atomic.Int64
		var all sync.WaitGroup
		for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(time.Second / time.Duration(rate)) {
			all.Go(func() {
				ctx, began := context.Background(), time.Now()
				if patience > 0 {
					limited, cancel := context.WithTimeout(ctx, patience)
					defer cancel()
					ctx = limited
				}
				outputs, err := b.Predict(ctx, map[string]any{"x": []float32{1}})
				if errors.Is(err, millrace.ErrOverloaded) {
					if took := time.Since(began); took != 0 {
						t.Errorf("a refusal took %v", took)
					}
					no.Add(1)
				}
				if err != nil {
					return
				}
				outputs["y"].Close()
				yes.Add(1)
				for took := time.Since(began).Nanoseconds(); ; {
					if last := most.Load(); took <= last || most.CompareAndSwap(last, took) {
						break
					}
				}
			})
		}
		all.Wait()
		answered, refused, longest = yes.Load(), no.Load(), time.Duration(most.Load())
	})
	return answered, refused, longest
}

// At three times its load a server answers in time at least 90% of the requests that it
// could answer at best, and refuses the others at once, because of their deadlines or
// of MaxQueueDelay.
func TestGoodput(t *testing.T) {
	testruntime.Need(t)
	const ms, cores, lasts = time.Millisecond, 2, 10 * time.Second
	for _, tt := range []struct {
		name      string
		call, row time.Duration
		best      float64 // answers a second
		patience  time.Duration
		delay     time.Duration
		longest   time.Duration
	}{
		{"convolutions with deadlines", 0, 10 * ms, 200, 300 * ms, 0, 300 * ms},
		{"convolutions with a delay", 0, 10 * ms, 200, 0, 100 * ms, 150 * ms},
		{"slow convolutions with deadlines", 0, 100 * ms, 20, 1000 * ms, 0, 1000 * ms},
		{"a dense model with deadlines", 5 * ms, ms, 1800, 200 * ms, 0, 200 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answered, refused, longest := flood(t, newMachine(cores, tt.call, tt.row), &Options{MaxQueueDelay: tt.delay}, int(3*tt.best), tt.patience, lasts)
			goodput := float64(answered) / (tt.best * lasts.Seconds())
			t.Logf("%.2f of the best, %d refused, the longest wait %v", goodput, refused, longest)
			if goodput < 0.9 || refused == 0 || longest > tt.longest {
				t.Errorf("%.2f of the best, %d refused, the longest wait %v; want 0.9 and at most %v", goodput, refused, longest, tt.longest)
			}
		})
	}
}

// Requests of higher priority are served first, whenever they came, and background work
// may fill half of the queue.
func TestPriorities(t *testing.T) {
	m := gated()
	b := newBatcher(t, m, Options{MaxBatchSize: 1, MaxEnqueuedBatches: 4})
	var mu sync.Mutex
	var order []float32
	m.fail = func(x *tfbridge.Tensor) error {
		v, _ := tfbridge.View[float32](x)
		mu.Lock()
		defer mu.Unlock()
		order = append(order, v[0])
		return nil
	}
	answers := []<-chan answer{ask(t.Context(), b, []float32{0})}
	<-m.began
	low, high := WithPriority(t.Context(), LowPriority), WithPriority(t.Context(), 7)
	for i, tt := range []struct {
		ctx context.Context
		x   float32
	}{{low, 1}, {low, 2}, {t.Context(), 3}, {high, 4}} {
		answers = append(answers, ask(tt.ctx, b, []float32{tt.x}))
		waitFor(b, i+1)
		if i == 1 {
			if a := <-ask(low, b, []float32{9}); !errors.Is(a.err, millrace.ErrOverloaded) {
				t.Errorf("background work beyond half of the queue: %v", a)
			}
		}
	}
	close(m.gate)
	for _, got := range answers {
		if a := <-got; a.err != nil {
			t.Error(a.err)
		}
	}
	if want := []float32{0, 4, 3, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}

// Background work that waits has no request of normal priority refused, neither because of MaxQueueDelay nor of its
// deadline, and none of it comes in beyond MaxQueueDelay.
func TestBackgroundWorkIsNotAhead(t *testing.T) {
	m := gated()
	b := newBatcher(t, m, Options{MaxBatchSize: 1, MaxEnqueuedBatches: 100, MaxQueueDelay: time.Minute})
	answers := []<-chan answer{ask(t.Context(), b, []float32{0})}
	<-m.began
	b.options.Scheduler.mu.Lock()
	b.queue.costs.row, b.queue.costs.batches = float64(20*time.Second), enoughBatches
	b.options.Scheduler.mu.Unlock()
	low := WithPriority(t.Context(), LowPriority)
	for i := range 3 {
		answers = append(answers, ask(low, b, []float32{1}))
		waitFor(b, i+1)
	}
	if a := <-ask(low, b, []float32{1}); !errors.Is(a.err, millrace.ErrOverloaded) {
		t.Errorf("background work that would wait for more than a minute: %v", a)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Admit(); err != nil {
		t.Errorf("before its body is read: %v", err)
	}
	for i, ctx := range []context.Context{soon, t.Context(), t.Context()} {
		answers = append(answers, ask(ctx, b, []float32{2}))
		waitFor(b, 4+i)
	}
	if a := <-ask(t.Context(), b, []float32{2}); !errors.Is(a.err, millrace.ErrOverloaded) {
		t.Errorf("a request with three others before it: %v", a)
	}
	close(m.gate)
	for _, got := range answers {
		if a := <-got; a.err != nil {
			t.Error(a.err)
		}
	}
	if b.queue.later != 0 || b.queue.rows != 0 {
		t.Errorf("at the end %d rows wait, %d of them with a low priority", b.queue.rows, b.queue.later)
	}
}
