package steps

import (
	"time"

	"millrace/observe"
)

// observer reports the events of one run to a listener. Without a listener it reads no
// clock and allocates nothing.
type observer struct {
	*observe.Listener
	source, signature string
	began             time.Time
}

func newObserver(o *Options) *observer {
	w := &observer{Listener: o.Observe, source: o.Source, signature: o.Signature, began: time.Now()}
	if w.Listener == nil {
		w.Listener = &observe.Listener{}
	}
	return w
}

// stepStarts returns the time if the listener measures steps.
func (w *observer) stepStarts() (start time.Time) {
	if w.Batch != nil {
		start = time.Now()
	}
	return start
}

// given describes one of the batches that a run of the session returned.
type given struct {
	step, rows int64
	start      time.Time // start of the run
	of, before int64     // expected batches of the run, and batches before this one
}

// gave reports that a batch was returned.
func (w *observer) gave(b given) {
	if w.Batch != nil {
		took := time.Since(b.start) / time.Duration(b.of) // the time of a single batch
		w.Batch(observe.Batch{
			Source: w.source, Signature: w.signature, Step: b.step, Rows: b.rows,
			Duration: took, Elapsed: b.start.Sub(w.began) + time.Duration(b.before+1)*took,
		})
	}
}

// again reports a repeated step.
func (w *observer) again(step int64, err error) {
	if w.Retry != nil {
		w.Retry(observe.Retry{Source: w.source, Signature: w.signature, Step: step, Err: err})
	}
}

// waitStarts returns the time if the listener measures the consumer's waits.
func (w *observer) waitStarts() (start time.Time) {
	if w.Stall != nil {
		start = time.Now()
	}
	return start
}

// waited reports that the consumer waited for a batch.
func (w *observer) waited(step int64, start time.Time) {
	if w.Stall != nil {
		w.Stall(observe.Stall{Source: w.source, Signature: w.signature, Step: step, Duration: time.Since(start)})
	}
}
