package train

import (
	"cmp"
	"slices"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// BatchOptions are the options of [Batch] and [BatchJoin]. Nil and the zero value mean
// the defaults.
type BatchOptions struct {
	NumThreads int  // number of goroutines that run the enqueue operation; 0: 1. With more the order is undefined. [BatchJoin] has one per list of Tensors.
	Capacity   int  // capacity of the queue; 0: 32
	DynamicPad bool // pad the dimensions that differ within a batch, with zeros, false or empty strings
	EnqueueOptions
}

// Batch collects examples in a queue and returns batches of them: each tensor has one more
// leading dimension, of size batchSize. It adds the [QueueRunner] that fills the queue, and
// a summary of the queue's fill level. With one thread the examples keep their order. At
// the end of the data a run that fetches the batch fails with code OutOfRange.
//
// It wraps FIFOQueueV2, or PaddingFIFOQueueV2 with DynamicPad. Sparse tensors pass through
// the queue serialized, and come out with the batch as their first dimension.
func Batch(s *graph.Scope, tensors Tensors, batchSize int, o *BatchOptions) Tensors {
	return MaybeBatch(s, tensors, tfbridge.Output{}, batchSize, o)
}

// MaybeBatch is [Batch] that skips examples. keepInput is a bool scalar or, with
// EnqueueMany, a vector with one bool per example. The zero Output keeps all examples.
func MaybeBatch(s *graph.Scope, tensors Tensors, keepInput tfbridge.Output, batchSize int, o *BatchOptions) Tensors {
	b := batching{name: "batch", lists: []Tensors{tensors}, keep: keepInput, batchSize: batchSize}
	return b.fifo(s, o)
}

// BatchJoin is [Batch] of several sources, such as several readers. The enqueue operation
// of each source runs in its own goroutine, so the order is undefined. The Tensors must
// agree in data types and, unless DynamicPad is set, in shapes.
func BatchJoin(s *graph.Scope, tensorsList []Tensors, batchSize int, o *BatchOptions) Tensors {
	return MaybeBatchJoin(s, tensorsList, tfbridge.Output{}, batchSize, o)
}

// MaybeBatchJoin is [BatchJoin] that skips examples, as [MaybeBatch] does.
func MaybeBatchJoin(s *graph.Scope, tensorsList []Tensors, keepInput tfbridge.Output, batchSize int, o *BatchOptions) Tensors {
	b := batching{name: "batch_join", lists: tensorsList, join: true, keep: keepInput, batchSize: batchSize}
	return b.fifo(s, o)
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
	if len(b.lists) > 0 {
		b.source = b.lists[0]
	}
	if s.Err() != nil {
		return b.source.none()
	}
	err := b.flatten()
	var components []graph.Spec
	if err == nil {
		components, err = b.components()
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		s.UpdateErr(b.name, err)
		return b.source.none()
	}
	s = s.SubScope(b.name)
	q := newQueue(s, components)
	var ops []*tfbridge.Operation
	for _, list := range b.lists {
		ops = append(ops, b.enqueue(s, q, list))
	}
	if s.Err() != nil {
		return b.source.none()
	}
	if b.threads > 1 {
		ops = slices.Repeat(ops, b.threads)
	}
	return b.dequeue(s, addRunner(s, q, ops, nil))
}

// dequeue adds the operation that returns a batch.
func (b batching) dequeue(s *graph.Scope, q *queue.Queue) Tensors {
	n := s.Const(int32(b.batchSize))
	take := q.DequeueMany
	if b.AllowSmallerFinalBatch {
		take = q.DequeueUpTo
	}
	values := take(s, n)
	if s.Err() != nil {
		return b.source.none()
	}
	dense := len(b.lists[0].Dense)
	batch := Tensors{Dense: values[:dense:dense]}
	for i, v := range values[dense:] {
		batch.Sparse = append(batch.Sparse, deserialize(s, v, b.lists[0].Sparse[i]))
	}
	return b.source.named(batch)
}
