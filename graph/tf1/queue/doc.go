// Package queue has TensorFlow's queues: one run of a graph enqueues elements, and
// another run of the same session dequeues them. [NewFIFO] makes one:
//
//	q := queue.NewFIFO(s, 32, []graph.Spec{
//		{Name: "image", DType: tfbridge.Float, Shape: tfbridge.MakeShape(28, 28)},
//		{Name: "label", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
//	}, nil)
//	enqueue := q.Enqueue(s, image, label)
//	batch := q.DequeueMany(s, s.Const(int32(16)))
//	end := q.Close(s, false)
//
// An enqueue waits while the queue is full, a dequeue while it has too few
// elements. [tfbridge.Session.RunContext] ends such a wait with its context. A
// dequeue from a closed queue that has too few elements fails with code OutOfRange,
// an enqueue to a closed queue with code Cancelled.
//
// There are also barriers, which join components by keys ([Barrier]), staging areas,
// which hold elements on a device ([StagingArea], [MapStagingArea]), and accumulators,
// which add up gradients of several workers ([ConditionalAccumulator],
// [SparseConditionalAccumulator]).
//
// An interrupted DequeueMany loses the elements that it had already taken.
//
// The methods of a queue add operations to a graph. They return nil or the zero Output
// after a failure, and [graph.Scope.Err] returns the error. Only one goroutine at a
// time may build. The operations may run concurrently. A queue lives in a session and
// ends with it.
package queue
