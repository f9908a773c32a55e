package queue

import (
	"millrace"
	"millrace/graph"
)

// DefaultSeed is the first of the two seeds where Python is given one and there
// is no global seed: seed=n in Python is Seed: DefaultSeed, Seed2: n here.
const DefaultSeed = 87654321

// RandomShuffleOptions are the options of [NewRandomShuffle]. Nil and the zero value
// mean the defaults.
type RandomShuffleOptions struct {
	Options
	MinAfterDequeue int   // number of elements that a dequeue leaves in an open queue, so that they mix well
	Seed, Seed2     int64 // both 0: another order in every session; Python's seed=n is [DefaultSeed], n
}

// NewRandomShuffle adds a queue that returns a random element of those in it. A dequeue
// waits until it can leave MinAfterDequeue elements in the queue. After the queue is
// closed, all elements can be dequeued. The capacity must be larger than
// MinAfterDequeue. The components are those of [NewFIFO].
//
// It wraps RandomShuffleQueueV2.
func NewRandomShuffle(s *graph.Scope, capacity int, components []graph.Spec, o *RandomShuffleOptions) *Queue {
	if o == nil {
		o = &RandomShuffleOptions{}
	}
	p := spec{opType: "RandomShuffleQueueV2", capacity: capacity, components: components, dense: true}
	p.attrs = map[string]any{"min_after_dequeue": int64(o.MinAfterDequeue), "seed": o.Seed, "seed2": o.Seed2}
	p.err = checkReserve(o.MinAfterDequeue, components)
	switch {
	case o.MinAfterDequeue < 0:
		p.err = millrace.Errorf(millrace.ErrModel, "MinAfterDequeue is %d, must not be negative", o.MinAfterDequeue)
	case capacity != Unbounded && capacity <= o.MinAfterDequeue:
		p.err = millrace.Errorf(millrace.ErrModel, "capacity is %d, must be larger than MinAfterDequeue, which is %d; otherwise the queue would be full before a dequeue may take anything", capacity, o.MinAfterDequeue)
	}
	return newQueue(s, p, &o.Options)
}
