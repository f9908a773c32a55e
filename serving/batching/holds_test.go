package batching

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// sleeper is a doubler whose runs take some time, each the next of its times. It records when they
// begin, and their rows.
type sleeper struct {
	doubler
	mu    sync.Mutex
	takes []time.Duration
	began []time.Duration // after the start
	rows  []int64
	start time.Time
}

func (s *sleeper) Call(ctx context.Context, key string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	s.mu.Lock()
	takes := s.takes[0]
	s.takes, s.began = s.takes[1:], append(s.began, time.Since(s.start))
	s.rows = append(s.rows, inputs["x"].(*tfbridge.Tensor).Shape()[0])
	s.mu.Unlock()
	time.Sleep(takes)
	return s.doubler.Call(ctx, key, inputs, outputs...)
}

// Requests that come while a brief batch runs share the next one, although a thread is free. A batch
// that takes longer than expected holds them for briefRun only, and a greedy batcher does not wait.
func TestHeldForBriefBatch(t *testing.T) {
	testruntime.Need(t)
	const us = time.Microsecond
	for _, tt := range []struct {
		name   string
		greedy bool
		first  time.Duration // what the first batch takes
		rows   []int64
		began  []time.Duration
	}{
		{"brief", false, 200 * us, []int64{1, 2}, []time.Duration{0, 200 * us}},
		{"longer than expected", false, time.Second, []int64{1, 2}, []time.Duration{0, 50*us + briefRun}},
		{"greedy", true, 200 * us, []int64{1, 1, 1}, []time.Duration{0, 50 * us, 60 * us}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &sleeper{doubler: doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}, takes: []time.Duration{tt.first, us, us}, start: time.Now()}
				b, err := New(m, "", &Options{Scheduler: NewScheduler(3), Greedy: tt.greedy})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				setCost(b, 10*us)
				b.queue.lone = manyLone
				for i, size := range b.queue.costs.sizes { // larger batches are worth it
					b.queue.costs.samples[i], b.queue.costs.perRow[i] = minSamples, 1/float64(size)
				}
				var answers []<-chan answer
				for _, wait := range []time.Duration{50 * us, 10 * us, 0} {
					answers = append(answers, ask(t.Context(), b, []float32{1}))
					time.Sleep(wait)
				}
				for _, a := range answers {
					if got := <-a; got.err != nil || !slices.Equal(got.values, []float32{2}) {
						t.Errorf("got %v", got)
					}
				}
				if !slices.Equal(m.rows, tt.rows) || !slices.Equal(m.began, tt.began) {
					t.Errorf("batches of %v rows at %v, want %v at %v", m.rows, m.began, tt.rows, tt.began)
				}
			})
		})
	}
}
