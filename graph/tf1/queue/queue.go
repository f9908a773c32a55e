package queue

import (
	"cmp"
	"fmt"
	"math"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Unbounded is the capacity of a queue without a limit: enqueues never wait.
const Unbounded = -1

// Queue is a queue in a graph, of whatever type.
type Queue struct {
	name       string
	handle     tfbridge.Output
	opType     string
	components []graph.Spec
	shaped     bool // components have shapes
	limits     limits
}

// Options are the options of all queues. Nil and the zero value mean the defaults.
type Options struct {
	Name       string // name of the queue's operation; "": the operation's type
	SharedName string // queues of one session with the same SharedName are one queue; "": none is shared
	Container  string // the resource container that holds the queue; "": the session's default
}

// NewFIFO adds a queue that returns elements in the order in which they came. It
// has room for capacity elements, or for any number if capacity is [Unbounded].
// Queues are on the CPU unless the scope has a device.
//
// The components describe an element. Either all of them have names, or none has. All
// of them have fully defined shapes, or all have the zero Shape. In the latter case
// each element may have other shapes, and the queue has no [Queue.DequeueMany] and
// [Queue.DequeueUpTo].
//
// It wraps FIFOQueueV2.
func NewFIFO(s *graph.Scope, capacity int, components []graph.Spec, o *Options) *Queue {
	return newQueue(s, spec{opType: "FIFOQueueV2", capacity: capacity, components: components, dense: true}, o)
}

// spec describes a queue.
type spec struct {
	opType     string
	capacity   int
	components []graph.Spec
	dense      bool           // shapes must be fully defined, if they are given
	ranked     bool           // shapes must be given
	attrs      map[string]any // attributes of the operation, in addition to or instead of the common ones
	err        error          // the fault in the attributes
}

// newQueue checks a spec and adds the queue.
func newQueue(s *graph.Scope, p spec, o *Options) *Queue {
	if o == nil {
		o = &Options{}
	}
	q := &Queue{name: cmp.Or(o.Name, p.opType), opType: p.opType, components: p.components}
	if s.Err() != nil {
		return q
	}
	if err := p.check(); err != nil {
		q.fail(s, err)
		return q
	}
	q.limits = newLimits(p.components)
	q.shaped = p.components[0].Shape.NumDimensions() >= 0
	attrs := map[string]any{
		"component_types": graph.DTypes(p.components), "capacity": int64(p.capacity),
		"shared_name": o.SharedName, "container": o.Container,
	}
	if q.shaped {
		attrs["shapes"] = graph.Shapes(p.components)
	}
	for name, value := range p.attrs {
		attrs[name] = value
	}
	// A GPU has no kernels for EnqueueMany and DequeueMany, and none for strings.
	op := s.AddOperation(tfbridge.OpSpec{Type: p.opType, Name: q.name, Attrs: attrs, Device: cmp.Or(s.Device(), "/cpu:0")})
	if op != nil {
		q.handle, q.name = op.Output(0), op.Name()
	}
	return q
}

// check returns an error if a spec is invalid.
func (p spec) check() error {
	if p.capacity != Unbounded && (p.capacity < 1 || p.capacity > math.MaxInt32) {
		return millrace.Errorf(millrace.ErrModel, "capacity is %d, must be from 1 to %d, or Unbounded", p.capacity, math.MaxInt32)
	}
	if p.err != nil {
		return p.err
	}
	return checkComponents(p.components, p.dense, p.ranked)
}

// Name returns the name of the queue's operation in the graph.
func (q *Queue) Name() string { return q.name }

// Handle returns the queue's resource handle, for operations that take one.
func (q *Queue) Handle() tfbridge.Output { return q.handle }

// Components returns the components of an element. The caller must not change the
// slice.
func (q *Queue) Components() []graph.Spec { return q.components }

// String names the queue in messages.
func (q *Queue) String() string { return fmt.Sprintf("queue %q (%s)", q.name, q.opType) }

// fail makes err, about this queue, the scope's failure.
func (q *Queue) fail(s *graph.Scope, err error) { s.UpdateErr(q.String(), err) }

// Size adds an operation that counts the elements, a scalar int32. It never waits.
//
// It wraps QueueSizeV2.
func (q *Queue) Size(s *graph.Scope) tfbridge.Output { return s.Op1("QueueSizeV2", nil, q.handle) }

// IsClosed adds an operation that reports whether the queue is closed, a scalar
// bool. It never waits.
//
// It wraps QueueIsClosedV2.
func (q *Queue) IsClosed(s *graph.Scope) tfbridge.Output {
	return s.Op1("QueueIsClosedV2", nil, q.handle)
}

// Close adds an operation that closes the queue. From then on enqueues fail with code
// Cancelled. Dequeues succeed as long as there are enough elements, and then fail with
// code OutOfRange.
//
// If cancelPendingEnqueues is true, enqueues that wait for room fail with code
// Cancelled at once. Otherwise the queue closes when they have succeeded, and the run
// that closes it waits for them; closing a queue that is already closed then fails with
// code Cancelled.
//
// It wraps QueueCloseV2.
func (q *Queue) Close(s *graph.Scope, cancelPendingEnqueues bool) *tfbridge.Operation {
	return s.AddOperation(tfbridge.OpSpec{
		Type: "QueueCloseV2", Attrs: map[string]any{"cancel_pending_enqueues": cancelPendingEnqueues},
		Input: []tfbridge.Input{q.handle},
	})
}

// WithHandle returns the queue with another handle: the output of an operation that
// passes the handle on, such as an Identity with control dependencies. Operations added
// by the result's methods run after that operation.
func (q *Queue) WithHandle(handle tfbridge.Output) *Queue {
	passed := *q
	passed.handle = handle
	return &passed
}

// NewPaddingFIFO adds a queue like [NewFIFO], but its components may have dimensions
// that differ from element to element, -1 in their shapes. [Queue.DequeueMany] and
// [Queue.DequeueUpTo] pad these with zeros, false or empty strings, at the end, to the
// largest of the batch. All components must have a shape.
//
// It wraps PaddingFIFOQueueV2.
func NewPaddingFIFO(s *graph.Scope, capacity int, components []graph.Spec, o *Options) *Queue {
	return newQueue(s, spec{opType: "PaddingFIFOQueueV2", capacity: capacity, components: components, ranked: true}, o)
}

// NewPriority adds a queue that returns the element of the lowest priority first. The
// first component is the priority, a scalar int64. The order of elements with the same
// priority is undefined. All components must have fully defined shapes: TensorFlow
// refuses other priority queues when they run.
//
// It wraps PriorityQueueV2, whose attributes do not include the priority.
func NewPriority(s *graph.Scope, capacity int, components []graph.Spec, o *Options) *Queue {
	p := spec{opType: "PriorityQueueV2", capacity: capacity, components: components, dense: true, ranked: true}
	if len(components) == 1 {
		p.err = millrace.Errorf(millrace.ErrModel, "there is no component but the priority; TensorFlow needs one")
	} else if len(components) > 1 {
		first := components[0]
		if first.DType != tfbridge.Int64 || first.Shape.NumDimensions() != 0 {
			p.err = millrace.Errorf(millrace.ErrModel, "%s is %v; the first component is the priority, a scalar int64", describe(0, first.Name), first)
		}
		p.attrs = map[string]any{"component_types": graph.DTypes(components[1:]), "shapes": graph.Shapes(components[1:])}
	}
	return newQueue(s, p, o)
}
