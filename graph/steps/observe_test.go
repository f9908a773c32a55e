package steps

import (
	"testing"

	"millrace/observe"
)

// Reporting to no listener, or to one that handles few events, does not allocate.
func TestNoListenerCostsNothing(t *testing.T) {
	heard := 0
	for name, l := range map[string]*observe.Listener{
		"nil":  nil,
		"deaf": {},
		"counting": {
			Batch: func(observe.Batch) { heard++ }, Stall: func(observe.Stall) { heard++ }, Retry: func(observe.Retry) { heard++ },
		},
	} {
		w := newObserver(&Options{Observe: l})
		allocs := testing.AllocsPerRun(100, func() {
			w.gave(given{step: 1, rows: 2, start: w.stepStarts(), of: 1})
			w.waited(1, w.waitStarts())
			w.again(1, nil)
			_ = w.Fault("", nil)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
		if silent := w.stepStarts().IsZero() && w.waitStarts().IsZero(); silent != (name != "counting") {
			t.Errorf("%s: the clock is read: %v", name, !silent)
		}
	}
	if heard == 0 {
		t.Error("the listener heard nothing")
	}
}
