package queue

import "millrace/graph"

// NewPaddingFIFO adds a queue like [NewFIFO], but its components may have dimensions
// that differ from element to element, -1 in their shapes. [Queue.DequeueMany] and
// [Queue.DequeueUpTo] pad these with zeros, false or empty strings, at the end, to the
// largest of the batch. All components must have a shape.
//
// It wraps PaddingFIFOQueueV2.
func NewPaddingFIFO(s *graph.Scope, capacity int, components []graph.Spec, o *Options) *Queue {
	return newQueue(s, spec{opType: "PaddingFIFOQueueV2", capacity: capacity, components: components, ranked: true}, o)
}
