package serving

import (
	"context"
	"sync/atomic"
	"time"

	"millrace/tfbridge"
)

// pace is how long the runs of a signature have taken. Where that is little, a run is made in the
// goroutine of its request: to change it costs as much as the run. The price is that a request
// whose run takes unexpectedly long is answered late; then the next ones change again. A nil pace
// records nothing.
type pace struct{ average atomic.Int64 } // nanoseconds; 0: no run yet

// newPaces returns a pace for each signature.
func newPaces(signatures map[string]tfbridge.Signature) map[string]*pace {
	paces := make(map[string]*pace, len(signatures))
	for key := range signatures {
		paces[key] = &pace{}
	}
	return paces
}

// briefRun is the average time up to which a run is made in the goroutine of its request, and
// paceWeight is the weight of all earlier runs and one more: a new run counts for one in four.
const (
	briefRun   = 500 * time.Microsecond
	paceWeight = 4
)

// context returns the context of the next run.
func (p *pace) context(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	if average := time.Duration(p.average.Load()); average == 0 || average > briefRun {
		return ctx
	}
	return tfbridge.InPlace(ctx)
}

// record records the time of a run. Of two that end at once one may be lost.
func (p *pace) record(took time.Duration) {
	if p == nil {
		return
	}
	average := p.average.Load()
	if average == 0 {
		average = int64(briefRun) * paceWeight // the first runs prepare the signature
	}
	p.average.Store(max(average+(int64(took)-average)/paceWeight, 1))
}
