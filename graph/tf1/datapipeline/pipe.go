package datapipeline

import (
	"context"
	"sync"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// Pipe buffers data: a queue or a staging area.
type Pipe interface {
	// HaveDataForDequeue reports whether a dequeue would find data now, without
	// waiting.
	HaveDataForDequeue(ctx context.Context, session *tfbridge.Session) (bool, error)
}

// PipeConnector moves data into a pipe.
type PipeConnector interface {
	// IsRunning reports whether the connector may still put data into its pipe. It is true
	// from the start, and becomes false when all data is in the pipe. There is no more data
	// once IsRunning is false and the pipe is empty, tested in this order.
	IsRunning() bool

	// Err returns why the connector stopped before the end of its data. It is nil while the
	// connector runs, and after the end of the data.
	Err() error

	// Changed returns a channel that is closed when the connector has put data
	// into its pipe, or stops running, after the call.
	Changed() <-chan struct{}
}

// HaveIncomingData reports whether a pipe that a connector fills has data or will get some.
// It waits until that is certain, or ctx is done. It returns an error that stopped the
// connector only after the data in the pipe is consumed. The caller must be the only
// consumer of the pipe.
func HaveIncomingData(ctx context.Context, session *tfbridge.Session, pipe Pipe, from PipeConnector) (bool, error) {
	// A connector signals a change when one of its runs ends. The run may have put data
	// into the pipe before that, and may wait for room. So poll as well.
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for {
		changed, running := from.Changed(), from.IsRunning()
		if have, err := pipe.HaveDataForDequeue(ctx, session); err != nil || have {
			return have, err
		}
		if !running {
			return false, from.Err()
		}
		select {
		case <-changed:
		case <-look.C:
		case <-ctx.Done():
			return false, millrace.Canceled(ctx, "wait for data")
		}
	}
}

// lookInterval is the interval at which HaveIncomingData polls.
const lookInterval = 10 * time.Millisecond

// activity is the state that a connector reports. The zero value is running.
type activity struct {
	mu      sync.Mutex
	stopped bool
	err     error
	changed chan struct{} // closed at the next change; nil: no goroutine waits for one
}

// IsRunning reports whether the loop may still put data into its pipe; see
// [PipeConnector].
func (a *activity) IsRunning() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.stopped
}

// Err returns the error that the loop ended with.
func (a *activity) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Changed returns a channel that is closed at the next change; see [PipeConnector].
func (a *activity) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

// start makes IsRunning true.
func (a *activity) start() { a.change(false, nil) }

// moved signals that data went into the pipe, or left it.
func (a *activity) moved() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signal()
}

// stop makes IsRunning false until the next start.
func (a *activity) stop(err error) { a.change(true, err) }

// finish calls stop at the end of a loop, also after a panic. Defer it.
func (a *activity) finish(err *error) {
	if v := recover(); v != nil {
		*err = tfbridge.PanicError(v)
	}
	a.stop(*err)
}

func (a *activity) change(stopped bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped, a.err = stopped, err
	a.signal()
}

// signal wakes the goroutines that wait for a change. The caller holds the lock.
func (a *activity) signal() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}
