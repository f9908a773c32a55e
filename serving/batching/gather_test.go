package batching

import (
	"runtime"
	"slices"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// On one processor, requests that have arrived when a thread becomes free are in one
// batch, although no request waits for others: the thread lets them in first.
func TestGather(t *testing.T) {
	testruntime.Need(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds, callers = 20, 8
	gathered := 0 // rounds whose first batch has several requests
	for range rounds {
		m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}
		b := newBatcher(t, m, Options{Scheduler: NewScheduler(1)})
		var answers []<-chan answer
		for i := range callers {
			answers = append(answers, ask(t.Context(), b, []float32{float32(i)}))
		}
		for i, got := range answers {
			if a := <-got; a.err != nil || !slices.Equal(a.values, []float32{2 * float32(i)}) {
				t.Errorf("request %d: got %v, %v", i, a.values, a.err)
			}
		}
		if sizes := m.batches(); sizes[0] > 1 {
			gathered++
		}
	}
	if gathered < rounds/2 { // Go's scheduler may run the thread first, but rarely does
		t.Errorf("requests gathered in %d of %d rounds", gathered, rounds)
	}
}
