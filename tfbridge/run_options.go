//go:build cgo

package tfbridge

import (
	"math"
	"time"

	"millrace"
)

// RunOptions are the options of a run. Nil and the zero value mean the defaults.
type RunOptions struct {
	// Inline executes operations in the calling thread; see Callable.Inline.
	Inline bool
	// Interrupt makes TensorFlow stop a run whose context is done: waiting operations
	// fail, loops end at their next iteration, and their threads become free. A kernel
	// that computes is not stopped; the run ends in the background when the kernel
	// returns. Do not interrupt a run that reads an iterator: that spoils the iterator
	// for good. Without Interrupt a run whose context is done continues in the
	// background until it ends or the session is closed.
	//
	// It adds a few operations to the graph, whose names begin with "millrace_guard",
	// and costs some microseconds a run. A run that may compute a loop uses
	// TensorFlow's inter-op pool, whatever Inline says. The deadline of the context
	// ends any number of endless loops. An earlier cancellation does not reach the
	// loops if they take all threads of the pool, or if InterOpThreads is 1 or -1: see
	// SessionOptions.LoopPool. With InterOpThreads -1 the deadline does not reach them
	// either, only Close.
	Interrupt bool
	// Timeout makes TensorFlow stop the run after this time. The run fails with
	// an error of class millrace.ErrCanceled and code DeadlineExceeded. It is
	// rounded up to milliseconds; 0 means no timeout. The rules for iterators
	// are those of Interrupt.
	Timeout time.Duration
	// Unlimited makes the run outside the limit of RuntimeOptions.MaxBlocking. It
	// is for the runs of a fixed number of goroutines that wait for other runs,
	// such as those that fill a queue: if they had taken the whole limit, the run
	// that empties the queue could not begin.
	Unlimited bool
	// CollectiveKey is the key of the graph whose collective operations the run contains,
	// the same in all tasks and not 0; 0: the run contains none. Give it to the runs with
	// such operations only: tasks that count other runs wait for each other for ever.
	CollectiveKey int64
	// Trace selects what RunTraced records.
	Trace TraceLevel
	// PartitionGraphs makes RunTraced return the graphs that were executed: one
	// for each device, as TensorFlow partitioned and rewrote them.
	PartitionGraphs bool
}

// TraceLevel is the amount of detail that TensorFlow records about a run.
type TraceLevel int

// The levels, with TensorFlow's numbers.
const (
	NoTrace       TraceLevel = 0
	SoftwareTrace TraceLevel = 1 // what TensorFlow executed, and when
	HardwareTrace TraceLevel = 2 // what the devices executed
	FullTrace     TraceLevel = 3 // both
)

// The fields of the RunOptions message.
const (
	runTrace           = 1
	runTimeout         = 2
	runInterOpPool     = 3
	runPartitionGraphs = 5
	runMore            = 8 // "experimental"

	moreCollectiveKey = 1

	callingThread = math.MaxUint64 // -1, the number of the pool
)

// check refuses invalid options.
func (o *RunOptions) check() error {
	if o.Timeout < 0 {
		return millrace.Errorf(millrace.ErrConfig, "the timeout of a run must not be negative, got %v", o.Timeout)
	}
	if o.Trace < NoTrace || o.Trace > FullTrace {
		return millrace.Errorf(millrace.ErrConfig, "the trace level of a run must be from 0 to 3, got %d", o.Trace)
	}
	return nil
}

// encode returns the options as a RunOptions message.
func (o *RunOptions) encode() []byte {
	var b []byte
	if o.Trace != NoTrace {
		b = appendVarint(b, runTrace, uint64(o.Trace))
	}
	if o.Timeout > 0 {
		b = appendVarint(b, runTimeout, uint64(milliseconds(o.Timeout)))
	}
	if o.Inline {
		b = appendVarint(b, runInterOpPool, callingThread)
	}
	if o.PartitionGraphs {
		b = appendVarint(b, runPartitionGraphs, 1)
	}
	if o.CollectiveKey != 0 {
		b = appendBytes(b, runMore, appendVarint(nil, moreCollectiveKey, uint64(o.CollectiveKey)))
	}
	return b
}

// PrepareRun is Prepare with options.
func (s *Session) PrepareRun(feeds, fetches []Output, targets []*Operation, o *RunOptions) (*Callable, error) {
	c, err := s.Prepare(feeds, fetches, targets)
	if err != nil || o == nil {
		return c, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	pooled := *o
	pooled.Inline = false
	c.options = pooled.encode()
	if o.Inline {
		c.Inline()
	}
	c.unlimited = o.Unlimited
	c.traced = o.Trace != NoTrace || o.PartitionGraphs
	c.timeout = o.Timeout
	if o.Interrupt {
		c.deadline = true
		c.guards = s.newGuards(fetches, targets)
	}
	return c, nil
}
