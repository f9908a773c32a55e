package dataset

import (
	"millrace"
	"millrace/graph"
)

// What TensorFlow would run out of memory for, or end the process, in place of
// failing.
const (
	maxShuffleBuffer = 100_000_000 // elements
	maxParallel      = 1_000       // calls at a time, datasets open at a time
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
