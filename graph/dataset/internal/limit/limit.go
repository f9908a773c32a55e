// Package limit holds the bounds of the arguments of dataset operations. Beyond them
// TensorFlow would run out of memory or end the process instead of returning an error.
package limit

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// The greatest values of arguments.
const (
	ShuffleBuffer   = 100_000_000 // elements
	Batch           = 1<<31 - 1   // elements
	WholeBatch      = 100_000_000 // elements of a batch that is allocated as a whole
	Parallel        = 1_000       // calls at a time, datasets open at a time, threads
	ReadBuffer      = 1 << 33     // bytes
	PaddedDimension = 1 << 31     // elements
	PaddedBatch     = 1 << 40     // bytes
)

// Range is the range of a valid size, both ends included.
type Range struct{ low, high int64 }

// Between returns the range from low to high, both included.
func Between(low, high int64) Range { return Range{low, high} }

// Check makes the scope fail if a size is out of range. What names the
// operation and its input in the error.
func (r Range) Check(s *graph.Scope, what string, size int64) {
	switch {
	case size < r.low:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "%d is less than %d", size, r.low))
	case size > r.high:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrLimit, "%d is more than %d", size, r.high))
	}
}

// BatchSize returns the greatest number of elements in a batch. With drop it is
// smaller: TensorFlow then allocates a whole batch before its first element.
func BatchSize(drop bool) int64 {
	if drop {
		return WholeBatch
	}
	return Batch
}

// AtMost returns an int64 scalar of the graph that fails if it is more than
// high. TensorFlow itself refuses 0 and negative numbers.
func AtMost(s *graph.Scope, what string, n tfbridge.Output, high int64) tfbridge.Output {
	if s.Err() != nil || n.Op == nil {
		return n
	}
	most := s.Const(high)
	check := graph.Assert(s, graph.LessEqual(s, n, most), []tfbridge.Output{s.Const(what), n, s.Const("is more than"), most}, nil)
	return graph.Identity(s.WithControlDependencies(check), n)
}

// Fits makes the scope fail if a batch of n elements, padded to p, would be too large.
// Unknown dimensions count as 1.
func Fits(s *graph.Scope, what string, n int64, p graph.Spec) {
	bytes := max(int64(p.DType.Size()), 1)
	grow := func(by int64) {
		if by > 0 && bytes <= PaddedBatch/by {
			bytes *= by
		} else if by > 0 {
			bytes = PaddedBatch + 1
		}
	}
	grow(n)
	for axis := range p.Shape.NumDimensions() {
		Between(-1, PaddedDimension).Check(s, what+": dimension", p.Shape.Size(axis))
		grow(p.Shape.Size(axis))
	}
	if bytes > PaddedBatch {
		s.UpdateErr(what, millrace.Errorf(millrace.ErrLimit, "%d elements padded to %v take more than %d bytes", n, p, PaddedBatch))
	}
}
