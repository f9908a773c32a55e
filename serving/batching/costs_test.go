package batching

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// machine is a doubler whose runs take virtual time: the duration call plus the
// duration row for each row, multiplied because the processors are shared.
type machine struct {
	doubler
	call, row time.Duration
	cores     chan struct{}
}

func newMachine(cores int, call, row time.Duration) *machine {
	m := &machine{doubler: doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}, call: call, row: row, cores: make(chan struct{}, cores)}
	return m
}

func (m *machine) Call(ctx context.Context, key string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	m.cores <- struct{}{}
	defer func() { <-m.cores }()
	time.Sleep(m.call + m.row*time.Duration(inputs["x"].(*tfbridge.Tensor).Shape()[0]))
	return m.doubler.Call(ctx, key, inputs, outputs...)
}

// answersOf returns how many requests of one row a batcher answers in virtual time.
// Each client sends its next request after an answer.
func answersOf(t *testing.T, m *machine, o *Options, clients int, lasts time.Duration) (answers int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Scheduler = NewScheduler(cap(m.cores))
		m.cores = make(chan struct{}, cap(m.cores))
		b, err := New(m, "", o)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		end := time.Now().Add(lasts)
		counts := make([]int, clients)
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				for time.Now().Before(end) {
					outputs, err := b.Predict(context.Background(), map[string]any{"x": []float32{1}})
					if err != nil {
						t.Error(err)
						return
					}
					outputs["y"].Close()
					counts[i]++
				}
			})
		}
		all.Wait()
		for _, n := range counts {
			answers += n
		}
	})
	return answers
}

// Where batches save time, a batcher that measures answers as many requests as a greedy
// one. Where they do not, it answers as many as single requests on all processors,
// while a greedy one puts all requests into one batch, and leaves processors idle.
func TestAdaptive(t *testing.T) {
	testruntime.Need(t)
	const ms = time.Millisecond
	tests := []struct {
		name       string
		call, row  time.Duration
		clients    int
		timeout    time.Duration
		least      float64 // minimum share of the possible rate
		greedyMost float64
	}{
		// How the clients divide into batches depends on the order of goroutines, and
		// so does the rate of a run, for both batchers alike. So the test uses the mean
		// of several runs. Requests alone get 0.04 of the possible rate.
		{"a dense model", 10 * ms, ms / 10, 64, 0, 0.5, 1.01},
		{"convolutions", 0, 10 * ms, 16, 0, 0.95, 1.01},
		{"convolutions and a timeout that somebody recommends", 0, 10 * ms, 4, 50 * ms, 0.9, 0.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const lasts, cores, runs = 8 * time.Second, 2, 6
			possible := cores * lasts.Seconds() / tt.row.Seconds()
			if tt.call > 0 { // all clients in two batches
				n := tt.clients / cores
				possible = cores * lasts.Seconds() * float64(n) / (tt.call + time.Duration(n)*tt.row).Seconds()
			}
			rate := func(greedy bool) (mean float64) {
				for range runs {
					o := &Options{BatchTimeout: tt.timeout, Greedy: greedy}
					mean += float64(answersOf(t, newMachine(cores, tt.call, tt.row), o, tt.clients, lasts)) / possible / runs
				}
				return mean
			}
			got, greedy := rate(false), rate(true)
			t.Logf("%.2f of the possible rate, greedy %.2f", got, greedy)
			if got < tt.least || greedy > tt.greedyMost || got < greedy*0.95 {
				t.Errorf("%.2f of the possible rate, greedy %.2f; want at least %.2f, and greedy at most %.2f", got, greedy, tt.least, tt.greedyMost)
			}
		})
	}
}

// Costs that change are measured again.
func TestCostsChange(t *testing.T) {
	c := newCosts(&Options{MaxExecutionBatchSize: 16})
	perRow := func(size int64) time.Duration { return time.Millisecond } // convolutions
	run := func(batches int) {
		for range batches {
			rows, pressed := c.choose(16)
			rows = min(rows, 16)
			c.record(&batch{size: rows, rows: rows, pressed: pressed}, perRow(rows)*time.Duration(rows))
		}
	}
	run(100)
	if got := c.usual(); got != 1 {
		t.Errorf("batches of %d rows, want 1 where all sizes cost the same", got)
	}
	perRow = func(size int64) time.Duration { return time.Second / time.Duration(size) }
	run(64 * 64)
	if got := c.usual(); got < 8 {
		t.Errorf("batches of %d rows, want large ones where a batch costs the same whatever its size", got)
	}
}

// Only allowed sizes are tried.
func TestCostsSizes(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{MaxExecutionBatchSize: 1}, "[1]"},
		{Options{MaxExecutionBatchSize: 6}, "[1 2 4 6]"},
		{Options{MaxExecutionBatchSize: 8, AllowedBatchSizes: []int{3, 8}}, "[3 8]"},
	} {
		c := newCosts(&tt.o)
		if got := fmt.Sprint(c.sizes); got != tt.want {
			t.Errorf("%+v: sizes %s, want %s", tt.o, got, tt.want)
		}
		for i, size := range c.sizes {
			if c.index(size) != i || c.index(size+1) != min(i+1, len(c.sizes)-1) {
				t.Errorf("%+v: %d rows have size %d", tt.o, size, c.index(size))
			}
		}
	}
}

// The time of a batch is weighted by the number of batches that run at the same time.
func TestMachineShare(t *testing.T) {
	var m machineShare
	at := time.Unix(1, 0)
	first := m.begin(at)
	second := m.begin(at.Add(2 * time.Second))
	if got := m.end(at.Add(6*time.Second)) - first; got != 4*time.Second {
		t.Errorf("the first cost %v, want 2 s alone and half of 4 s", got)
	}
	if got := m.end(at.Add(7*time.Second)) - second; got != 3*time.Second {
		t.Errorf("the second cost %v, want half of 4 s and 1 s alone", got)
	}
}
