package train

import (
	"cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// ShuffleBatchOptions are the options of [ShuffleBatch] and [ShuffleBatchJoin]. Nil and
// the zero value mean the defaults.
type ShuffleBatchOptions struct {
	NumThreads int // number of goroutines that run the enqueue operation; 0: 1. [ShuffleBatchJoin] has one for each of its Tensors.
	// MinAfterDequeue is the number of examples that stay in the queue, so that they
	// mix. More examples shuffle better, need more memory, and delay the first batch.
	// At the end of the data they are dequeued too.
	MinAfterDequeue int
	// Capacity of the queue; it must be larger than MinAfterDequeue. 0:
	// [RecommendedCapacity].
	Capacity    int
	Seed, Seed2 int64 // both 0: another order in every session; Python's seed=n is [queue.DefaultSeed], n
	EnqueueOptions
}

// ShuffleBatch is [Batch] that takes the examples of a batch at random from those in
// the queue.
//
// It wraps RandomShuffleQueueV2.
func ShuffleBatch(s *graph.Scope, tensors Tensors, batchSize int, o *ShuffleBatchOptions) Tensors {
	return MaybeShuffleBatch(s, tensors, tfbridge.Output{}, batchSize, o)
}

// MaybeShuffleBatch is [ShuffleBatch] that skips examples, as [MaybeBatch] does.
func MaybeShuffleBatch(s *graph.Scope, tensors Tensors, keepInput tfbridge.Output, batchSize int, o *ShuffleBatchOptions) Tensors {
	b := batching{name: "shuffle_batch", lists: []Tensors{tensors}, keep: keepInput, batchSize: batchSize}
	return b.shuffle(s, o)
}

// ShuffleBatchJoin is [ShuffleBatch] of several sources, such as several readers of one
// queue of file names: they read different files of an epoch at the same time. With
// more readers than files, or disks that seek slowly, use [ShuffleBatch] of one reader
// with several threads, which reads one file at a time.
func ShuffleBatchJoin(s *graph.Scope, tensorsList []Tensors, batchSize int, o *ShuffleBatchOptions) Tensors {
	return MaybeShuffleBatchJoin(s, tensorsList, tfbridge.Output{}, batchSize, o)
}

// MaybeShuffleBatchJoin is [ShuffleBatchJoin] that skips examples, as [MaybeBatch]
// does.
func MaybeShuffleBatchJoin(s *graph.Scope, tensorsList []Tensors, keepInput tfbridge.Output, batchSize int, o *ShuffleBatchOptions) Tensors {
	b := batching{name: "shuffle_batch_join", lists: tensorsList, join: true, keep: keepInput, batchSize: batchSize}
	return b.shuffle(s, o)
}

// RecommendedCapacity returns the capacity for the queue of a [ShuffleBatch]: room for
// a batch of each goroutine, and for two more, in addition to the examples that stay.
func RecommendedCapacity(minAfterDequeue, numThreads, batchSize int) int {
	const margin = 2 // batches
	return minAfterDequeue + (max(numThreads, 1)+margin)*max(batchSize, 1)
}

// shuffle adds a batching function with a queue that shuffles.
func (b batching) shuffle(s *graph.Scope, o *ShuffleBatchOptions) Tensors {
	if o == nil {
		o = &ShuffleBatchOptions{}
	}
	b.threads, b.EnqueueOptions = o.NumThreads, o.EnqueueOptions
	capacity := cmp.Or(o.Capacity, RecommendedCapacity(o.MinAfterDequeue, max(o.NumThreads, len(b.lists)), b.batchSize))
	if s.Err() == nil && (o.MinAfterDequeue < 0 || capacity <= o.MinAfterDequeue) {
		s.UpdateErr(b.name, millrace.Errorf(millrace.ErrModel, "Capacity is %d and MinAfterDequeue %d; the capacity must be larger, and neither negative", capacity, o.MinAfterDequeue))
	}
	return b.add(s, func(s *graph.Scope, components []graph.Spec) *queue.Queue {
		q := queue.NewRandomShuffle(s, capacity, components, &queue.RandomShuffleOptions{
			Options:         queue.Options{SharedName: b.SharedName},
			MinAfterDequeue: o.MinAfterDequeue, Seed: o.Seed, Seed2: o.Seed2,
		})
		addFullness(s, q, shuffleFullness(capacity, o.MinAfterDequeue))
		return q
	})
}
