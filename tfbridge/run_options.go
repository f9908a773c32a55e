package tfbridge

import (
	"math"
	"time"

	"millrace"
)

// RunOptions say how a run is made. Nil and the zero value are the defaults.
type RunOptions struct {
	// Inline computes in the calling thread; see Callable.Inline.
	Inline bool
	// Interrupt makes TensorFlow stop a run whose context ends: operations
	// that wait fail, loops leave at their next turn, and the threads they
	// held are free. One kernel that computes is not stopped, but waited for
	// in the background. A run that reads an iterator must not be interrupted:
	// the iterator is spoilt for good. Without it a run whose context ends
	// goes on in the background until it is done or the session is closed.
	//
	// It costs a few operations in the graph, whose names begin with
	// "millrace_guard", and some microseconds a run.
	Interrupt bool
	// Timeout makes TensorFlow itself stop a run, which fails with an error of
	// class millrace.ErrCanceled and the code DeadlineExceeded; it is rounded
	// up to milliseconds, and 0 is none. The rules are those of Interrupt.
	Timeout time.Duration
	// Trace is what RunTraced records.
	Trace TraceLevel
	// PartitionGraphs has RunTraced return the graphs that were executed, as
	// TensorFlow divided and rewrote them.
	PartitionGraphs bool
}

// TraceLevel is how much is recorded of a run.
type TraceLevel int

// The levels, with TensorFlow's numbers.
const (
	NoTrace       TraceLevel = 0
	SoftwareTrace TraceLevel = 1 // what TensorFlow did when
	HardwareTrace TraceLevel = 2 // and what its devices did
	FullTrace     TraceLevel = 3
)

// The fields of the RunOptions message.
const (
	runTrace           = 1
	runTimeout         = 2
	runInterOpPool     = 3
	runPartitionGraphs = 5
)

// check refuses options that make no sense.
func (o *RunOptions) check() error {
	if o.Timeout < 0 {
		return millrace.Errorf(millrace.ErrConfig, "a run with a timeout of %v", o.Timeout)
	}
	if o.Trace < NoTrace || o.Trace > FullTrace {
		return millrace.Errorf(millrace.ErrConfig, "a run with trace level %d", o.Trace)
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
		b = appendVarint(b, runInterOpPool, math.MaxUint64) // -1
	}
	if o.PartitionGraphs {
		b = appendVarint(b, runPartitionGraphs, 1)
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
	c.options = o.encode()
	c.traced = o.Trace != NoTrace || o.PartitionGraphs
	if o.Interrupt {
		c.guards = s.newGuards(fetches, targets)
	}
	return c, nil
}
