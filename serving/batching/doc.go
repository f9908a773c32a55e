// Package batching runs the requests of many goroutines together.
//
// A model computes a batch of 32 examples in little more time than one example.
// A [Batcher] takes requests of one or a few examples each, joins those that
// wait along their first dimension, runs the model once, and splits the result:
//
//	model, err := graph.LoadModel("model", nil)
//	...
//	batcher, err := batching.New(model, "", &batching.Options{MaxBatchSize: 64})
//	...
//	defer batcher.Close()
//	// In any number of goroutines:
//	outputs, err := batcher.Predict(ctx, map[string]any{"x": [][]float32{{1, 2, 3}}})
//
// The options have the names and defaults of TensorFlow Serving's
// BatchingParameters.
package batching

/*
How a batch comes about

TensorFlow Serving puts a request into the batch that is open, and hands the
batch over when it is full or old enough. A request cannot leave its batch: when
its client is gone, it is computed all the same. Here nothing is decided before
a thread is free. Requests wait in a queue, and a batch is formed at the last
moment, of the requests that still wait then:

	Predict ---> group of shape [3] : r1 r4 r5         form     join, Call, share
	Predict ---> group of shape [7] : r2 r3   ------> batch ------------------> r1 r4 r5
	             (one queue for a signature)     when a thread is free

 1. Predict checks a request against the signature, so that a request that is
    wrong on its own fails alone, and appends it to the group of the requests
    whose shapes can be joined.

 2. A group is ready when it fills a batch, or when its oldest request has
    waited for BatchTimeout. With the default of 0 it is ready at once: a request
    that finds a free thread runs alone, and while all threads are busy
    requests gather. So batches grow with the load, and no one waits for
    nothing.

 3. A Scheduler gives a free thread the next ready batch. A run occupies a
    processor. If all of them ran batches of one row, none would be left to
    take requests that have arrived. So the thread first lets the goroutines
    run that can, and then forms the batch. The Scheduler goes round the
    queues, so that a model with many requests does not hold up another.
    Within a queue the group with the oldest request comes first.

 4. The batch is joined and run, and each request reads its rows of the outputs (see
    outcome). What fails there, fails the requests of this batch and no others.

A request whose context ends while it waits leaves its group, and nothing of it
is computed. If it is in a batch already, Predict returns at once, and the batch
goes on for the others. When the last request of a batch has left, its run is
interrupted. Only one moment needs care: while a batch reads the tensors of a
request to join them, the request's caller must not close them. So Predict waits
for the end of that copy, which is short.

Why not TensorFlow's BatchFunction, an operation that does the same within a
graph? Each request would be a session run of its own that waits inside
TensorFlow, and each holds an operating system thread for that time. A request
cannot leave it. It knows no fairness between models, and a full queue is
reported by the same code as any failure of a kernel. docs/performance.md has
the figures.
*/
