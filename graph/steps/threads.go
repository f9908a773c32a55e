package steps

import (
	"context"
	"slices"
	"time"

	"millrace/tfbridge"
)

// # Which threads run the operations of a step
//
// The operations of a step can run one after another in the thread that makes the step, or in
// TensorFlow's pool, where operations that do not need each other run at the same time.
//
// The derivatives of a layer's weights and of its inputs do not need each other, nor do the
// directions of a bidirectional layer. But each change of threads costs a few microseconds.
// Nothing that is known before the first step says which is faster. A small GRU and a small
// Transformer both have few weights and steps of 2 to 3 ms: on two processors the pool makes
// 1.4 times the steps of the GRU, and beside other programs fewer of the Transformer.
//
// So a run measures it: its first steps run in both ways by turns, and it keeps to the faster one
// (figures in docs/performance.md). The values are the same, because what must happen in order has
// control edges.

const (
	// trials is the number of steps measured in each way, after the first step, which
	// optimizes the graph.
	trials = 8
	// gain is how much shorter the steps in the pool must be, since they take more of the
	// processors.
	gain = 0.95
)

// threads chooses how the next step is run.
type threads struct {
	inline, pooled *tfbridge.Callable // pooled is nil if all steps run in one way

	steps int                // number of steps made, up to the end of the trial
	took  [2][]time.Duration // times of steps: in the pool, and one after another
	pool  bool               // the result of the trial
}

// run makes a step. It reads the clock only during the trial.
func (t *threads) run(values []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	call := t.callable()
	if !t.trying() {
		return call.Run(context.Background(), values)
	}
	start := time.Now()
	tensors, err := call.Run(context.Background(), values)
	t.made(time.Since(start))
	return tensors, err
}

// trying reports whether the next step belongs to the trial.
func (t *threads) trying() bool { return t.pooled != nil && t.steps <= 2*trials }

// inPool reports whether the next step runs in the pool.
func (t *threads) inPool() bool {
	if t.pooled == nil || t.steps == 0 {
		return false
	}
	if t.trying() {
		return t.steps%2 == 0
	}
	return t.pool
}

// callable returns the callable of the next step.
func (t *threads) callable() *tfbridge.Callable {
	if t.inPool() {
		return t.pooled
	}
	return t.inline
}

// made takes the time of a step of the trial. The last one ends the trial.
func (t *threads) made(d time.Duration) {
	if !t.trying() {
		return
	}
	if way := t.steps % 2; t.steps > 0 {
		t.took[way] = append(t.took[way], d)
	}
	if t.steps++; t.steps > 2*trials {
		t.pool = float64(median(t.took[0])) < gain*float64(median(t.took[1]))
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
