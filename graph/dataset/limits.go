package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// What TensorFlow would run out of memory for, or end the process, in place of
// failing.
const (
	maxShuffleBuffer = 100_000_000 // elements
	maxBatch         = 1<<31 - 1   // elements
	maxWholeBatch    = 100_000_000 // elements of a batch for which room is made at once
	maxParallel      = 1_000       // calls at a time, datasets open at a time, threads
	maxReadBuffer    = 1 << 33     // bytes
	maxPaddedDim     = 1 << 31     // elements
	maxPaddedBatch   = 1 << 40     // bytes
)

// inRange sticks a failure to the scope if a size is less than low or more
// than high.
func inRange(s *graph.Scope, what string, size, low, high int64) {
	switch {
	case size < low:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "%d is less than %d", size, low))
	case size > high:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrLimit, "%d is more than %d", size, high))
	}
}

// errNoContext says that a context is nil.
func errNoContext(what string) error {
	return millrace.Errorf(millrace.ErrConfig, "%s: the context is nil", what)
}

// maxBatchSize returns the largest size of batches. Room for all elements is
// made before the first where fewer are left out.
func maxBatchSize(drop bool) int64 {
	if drop {
		return maxWholeBatch
	}
	return maxBatch
}

// atMost returns an int64 scalar of the graph that fails if it is more than
// high. A negative one or 0 is what TensorFlow refuses itself.
func atMost(s *graph.Scope, what string, n tfbridge.Output, high int64) tfbridge.Output {
	if s.Err() != nil || n.Op == nil {
		return n
	}
	limit := s.Const(high)
	check := graph.Assert(s, graph.LessEqual(s, n, limit), []tfbridge.Output{s.Const(what), n, s.Const("is more than"), limit}, nil)
	return graph.Identity(s.WithControlDependencies(check), n)
}

// fits sticks a failure to the scope if a batch of n elements, padded to p,
// would be too large. Dimensions that are not known count as 1.
func fits(s *graph.Scope, what string, n int64, p graph.Spec) {
	bytes := max(int64(p.DType.Size()), 1)
	grow := func(by int64) {
		if by > 0 && bytes <= maxPaddedBatch/by {
			bytes *= by
		} else if by > 0 {
			bytes = maxPaddedBatch + 1
		}
	}
	grow(n)
	for axis := range p.Shape.NumDimensions() {
		inRange(s, what+": dimension", p.Shape.Size(axis), -1, maxPaddedDim)
		grow(p.Shape.Size(axis))
	}
	if bytes > maxPaddedBatch {
		s.UpdateErr(what, millrace.Errorf(millrace.ErrLimit, "%d elements padded to %v take more than %d bytes", n, p, maxPaddedBatch))
	}
}
