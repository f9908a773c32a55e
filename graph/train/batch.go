package train

import (
	"cmp"
	"fmt"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/queue"
	"millrace/tfbridge"
)

// Tensors are what a batching function takes and returns: one example, several, or a
// batch.
type Tensors struct {
	Dense  []tfbridge.Output
	Sparse []graph.SparseTensor
}

// BatchOptions are the options of [Batch] and [BatchJoin]. Nil and the zero value mean
// the defaults.
type BatchOptions struct {
	NumThreads int  // goroutines that run the enqueue operation; 0: 1. With more the order is open. [BatchJoin] has one for each of its Tensors.
	Capacity   int  // of the queue; 0: 32
	DynamicPad bool // pad the dimensions that differ within a batch, with zeros, false or empty strings
	EnqueueOptions
}

// EnqueueOptions are the options that all batching functions have.
type EnqueueOptions struct {
	// EnqueueMany says that the first dimension of each tensor counts examples. There
	// may be none, which leaves a record out, or several from one record.
	EnqueueMany bool
	// Shapes are those of the dense tensors of one example. Nil: as far as TensorFlow
	// infers them. Without DynamicPad they must be fully defined.
	Shapes []tfbridge.Shape
	// AllowSmallerFinalBatch hands out the examples that are left at the end of the
	// data. Default: fewer than a batch are dropped, as in Python.
	AllowSmallerFinalBatch bool
	SharedName             string // of the queue: see [queue.Options]
}

// Batch gathers examples in a queue and returns batches of them: each tensor with one
// more dimension in front, of size batchSize. It adds the [QueueRunner] that fills the
// queue, and a summary of how full it is. With one thread the examples keep their
// order. At the end of the data a run that fetches the batch fails with code
// OutOfRange.
//
// It wraps FIFOQueueV2, or PaddingFIFOQueueV2 with DynamicPad. Sparse tensors pass
// the queue serialized, and come out with the batch as their first dimension.
func Batch(s *graph.Scope, tensors Tensors, batchSize int, o *BatchOptions) Tensors {
	return MaybeBatch(s, tensors, tfbridge.Output{}, batchSize, o)
}

// MaybeBatch is [Batch] that leaves examples out. KeepInput is a bool scalar or, with
// EnqueueMany, a vector with one for each example. The zero Output keeps all.
func MaybeBatch(s *graph.Scope, tensors Tensors, keepInput tfbridge.Output, batchSize int, o *BatchOptions) Tensors {
	b := batching{name: "batch", lists: []Tensors{tensors}, keep: keepInput, batchSize: batchSize}
	return b.fifo(s, o)
}

// BatchJoin is [Batch] of several sources, such as several readers. The enqueue
// operation of each runs in a goroutine of its own, so the order is open. The Tensors
// must agree in data types and, unless DynamicPad is set, in shapes.
func BatchJoin(s *graph.Scope, tensorsList []Tensors, batchSize int, o *BatchOptions) Tensors {
	return MaybeBatchJoin(s, tensorsList, tfbridge.Output{}, batchSize, o)
}

// MaybeBatchJoin is [BatchJoin] that leaves examples out, as [MaybeBatch] does.
func MaybeBatchJoin(s *graph.Scope, tensorsList []Tensors, keepInput tfbridge.Output, batchSize int, o *BatchOptions) Tensors {
	b := batching{name: "batch_join", lists: tensorsList, join: true, keep: keepInput, batchSize: batchSize}
	return b.fifo(s, o)
}

// batching is a batching function with its arguments.
type batching struct {
	name      string
	lists     []Tensors
	join      bool
	threads   int
	keep      tfbridge.Output
	batchSize int
	pad       bool
	EnqueueOptions
}

// fifo adds a batching function with a queue that keeps the order.
func (b batching) fifo(s *graph.Scope, o *BatchOptions) Tensors {
	if o == nil {
		o = &BatchOptions{}
	}
	b.threads, b.pad, b.EnqueueOptions = o.NumThreads, o.DynamicPad, o.EnqueueOptions
	capacity := cmp.Or(o.Capacity, defaultCapacity)
	return b.add(s, func(s *graph.Scope, components []graph.Spec) *queue.Queue {
		add := queue.NewFIFO
		if b.pad {
			add = queue.NewPaddingFIFO
		}
		q := add(s, capacity, components, &queue.Options{SharedName: b.SharedName})
		addFullness(s, q, fullness{name: fullName(capacity), capacity: capacity})
		return q
	})
}

// add adds a batching function with a queue that newQueue makes.
func (b batching) add(s *graph.Scope, newQueue func(*graph.Scope, []graph.Spec) *queue.Queue) Tensors {
	if s.Err() != nil {
		return Tensors{}
	}
	components, err := b.components()
	if err == nil {
		err = b.check()
	}
	if err != nil {
		s.UpdateErr(b.name, err)
		return Tensors{}
	}
	s = s.SubScope(b.name)
	q := newQueue(s, components)
	var ops []*tfbridge.Operation
	for _, list := range b.lists {
		ops = append(ops, b.enqueue(s, q, list))
	}
	if s.Err() != nil {
		return Tensors{}
	}
	if b.threads > 1 {
		ops = slices.Repeat(ops, b.threads)
	}
	return b.dequeue(s, addRunner(s, q, ops, nil))
}

// check returns what is wrong with the arguments that are not tensors.
func (b batching) check() error {
	switch {
	case b.batchSize < 0:
		return millrace.Errorf(millrace.ErrModel, "the batch size is %d, must not be negative", b.batchSize)
	case b.threads < 0 || b.threads > maxGoroutines:
		return millrace.Errorf(millrace.ErrModel, "NumThreads is %d, must be from 0 to %d", b.threads, maxGoroutines)
	case b.join && b.threads != 0:
		return millrace.Errorf(millrace.ErrModel, "NumThreads is %d; a join has a goroutine for each of its Tensors", b.threads)
	}
	return b.checkKeep()
}

// components returns what an element of the queue consists of: the dense tensors, then
// the serialized sparse ones.
func (b batching) components() ([]graph.Spec, error) {
	if len(b.lists) == 0 || len(b.lists[0].Dense)+len(b.lists[0].Sparse) == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "there are no tensors")
	}
	first := b.lists[0]
	if b.Shapes != nil && len(b.Shapes) != len(first.Dense) {
		return nil, millrace.Errorf(millrace.ErrModel, "%d Shapes for %d dense tensors", len(b.Shapes), len(first.Dense))
	}
	var components []graph.Spec
	for i := range first.Dense {
		c, err := b.component(i)
		if err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, err)
		}
		components = append(components, c)
	}
	for i := range first.Sparse {
		if err := b.checkSparse(i); err != nil {
			return nil, fmt.Errorf("sparse tensor %d: %w", i, err)
		}
		components = append(components, serializedSparse)
	}
	return components, nil
}

// component returns what all lists have in common in dense tensor i.
func (b batching) component(i int) (graph.Spec, error) {
	var c graph.Spec
	for n, list := range b.lists {
		if len(list.Dense) != len(b.lists[0].Dense) || len(list.Sparse) != len(b.lists[0].Sparse) {
			return c, millrace.Errorf(millrace.ErrModel, "all Tensors must have the same number of tensors")
		}
		spec, err := b.example(list.Dense[i])
		if err != nil {
			return c, err
		}
		if b.Shapes != nil {
			spec.Shape = b.Shapes[i]
		}
		if n == 0 {
			c = spec
			continue
		}
		if spec.DType != c.DType || !spec.Shape.IsCompatibleWith(c.Shape) {
			return c, millrace.Errorf(millrace.ErrModel, "%v of one source and %v of another do not fit", c, spec)
		}
		if b.pad {
			c.Shape = lessSpecific(c.Shape, spec.Shape)
		} else {
			c.Shape = moreSpecific(c.Shape, spec.Shape)
		}
	}
	if b.pad && c.Shape.NumDimensions() < 0 {
		return c, millrace.Errorf(millrace.ErrModel, "its rank is not known; set Shapes")
	}
	if !b.pad && !c.Shape.IsFullySpecified() {
		return c, millrace.Errorf(millrace.ErrModel, "its shape is %v; set Shapes, or DynamicPad if examples differ", c.Shape)
	}
	return c, nil
}

// example returns what a tensor is in one example.
func (b batching) example(x tfbridge.Output) (graph.Spec, error) {
	spec := graph.SpecOf(x)
	if x.Op == nil {
		return spec, millrace.Errorf(millrace.ErrModel, "it is the zero Output")
	}
	if !b.EnqueueMany || spec.Shape.NumDimensions() < 0 {
		return spec, nil
	}
	if spec.Shape.NumDimensions() == 0 {
		return spec, millrace.Errorf(millrace.ErrModel, "it is a scalar; with EnqueueMany the first dimension counts examples")
	}
	spec.Shape = tfbridge.MakeShape(spec.Shape.Dims()[1:]...)
	return spec, nil
}

// lessSpecific returns what two compatible shapes have in common.
func lessSpecific(a, b tfbridge.Shape) tfbridge.Shape {
	if a.NumDimensions() < 0 || b.NumDimensions() < 0 {
		return tfbridge.Shape{}
	}
	dims := a.Dims()
	for i, d := range b.Dims() {
		dims[i] = min(dims[i], d)
	}
	return tfbridge.MakeShape(dims...)
}

// dequeue adds the operation that returns a batch.
func (b batching) dequeue(s *graph.Scope, q *queue.Queue) Tensors {
	if s.Err() != nil {
		return Tensors{}
	}
	n := s.Const(int32(b.batchSize))
	take := q.DequeueMany
	if b.AllowSmallerFinalBatch {
		take = q.DequeueUpTo
	}
	values := take(s, n)
	if s.Err() != nil {
		return Tensors{}
	}
	dense := len(b.lists[0].Dense)
	batch := Tensors{Dense: values[:dense:dense]}
	for i, v := range values[dense:] {
		batch.Sparse = append(batch.Sparse, deserialize(s, v, b.lists[0].Sparse[i]))
	}
	return batch
}
