package datapipeline

import (
	"context"
	"sync"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// Pipe is a place where data waits: a queue or a staging area.
type Pipe interface {
	// HaveDataForDequeue reports whether a dequeue would find data now, without
	// waiting.
	HaveDataForDequeue(ctx context.Context, session *tfbridge.Session) (bool, error)
}

// PipeConnector moves data into a pipe.
type PipeConnector interface {
	// IsRunning reports whether the connector may still put data into its pipe. It
	// is true from the start, and becomes false when all data is in the pipe. That
	// there is no more data is certain once IsRunning is false and the pipe is
	// empty, tested in this order.
	IsRunning() bool

	// Err returns why the connector stopped before the end of its data; nil if it is
	// running or came to the end.
	Err() error

	// Changed returns a channel that is closed when the connector has put data
	// into its pipe, or stops running, after the call.
	Changed() <-chan struct{}
}

// HaveIncomingData reports whether a pipe that a connector fills has data now or
// will have. It waits until it knows, or until ctx is done. An error that stopped the
// connector comes after the data that is in the pipe. HaveIncomingData assumes that
// nobody else takes data out of the pipe.
func HaveIncomingData(ctx context.Context, session *tfbridge.Session, pipe Pipe, from PipeConnector) (bool, error) {
	// A connector tells of its data when a run of it ends. The run may have put
	// data into the pipe before that, and may wait for room. So look from time to
	// time, too.
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

// lookInterval is how often HaveIncomingData looks without having been told to.
const lookInterval = 10 * time.Millisecond

// activity is what a connector tells of itself. The zero value is running.
type activity struct {
	mu      sync.Mutex
	stopped bool
	err     error
	changed chan struct{} // closed at the next change; nil: nobody waits for it
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

// moved tells of data that went into the pipe, or left it.
func (a *activity) moved() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

// stop makes IsRunning false, until start.
func (a *activity) stop(err error) { a.change(true, err) }

// finish is stop for the end of a loop, which may be a panic. Defer it.
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
	a.tell()
}

// tell wakes those that wait for a change. The caller holds the lock.
func (a *activity) tell() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}
