package graph

import (
	"millrace/tfbridge"
)

// Shape adds a Shape: the shape of x as a vector of int64.
func Shape(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("Shape", map[string]any{"out_type": tfbridge.Int64}, x)
}

// Size adds a Size: the number of x's elements as an int64, like the dimensions
// that [Shape] gives. Python's tf.size gives an int32.
func Size(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("Size", map[string]any{"out_type": tfbridge.Int64}, x)
}

// Rank adds a Rank: the number of x's dimensions as an int32.
func Rank(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("Rank", nil, x)
}

// Reshape adds a Reshape. One element of shape may be -1.
func Reshape(s *Scope, x, shape tfbridge.Output) tfbridge.Output {
	return s.Op1("Reshape", nil, x, shape)
}

// EnsureShape adds an EnsureShape: an error if x has another shape when run.
func EnsureShape(s *Scope, x tfbridge.Output, shape tfbridge.Shape) tfbridge.Output {
	return s.Op1("EnsureShape", map[string]any{"shape": shape}, x)
}

// ExpandDims adds an ExpandDims: a dimension of size 1 before dimension axis or, with
// axis -1, at the end.
func ExpandDims(s *Scope, x tfbridge.Output, axis int64) tfbridge.Output {
	return s.Op1("ExpandDims", nil, x, s.Const(axis))
}

// Squeeze adds a Squeeze: it removes the dimensions in axes, which must have size 1, or
// all dimensions of size 1 if axes is empty.
func Squeeze(s *Scope, x tfbridge.Output, axes ...int64) tfbridge.Output {
	return s.Op1("Squeeze", map[string]any{"squeeze_dims": append([]int64{}, axes...)}, x)
}

// BroadcastTo adds a BroadcastTo.
func BroadcastTo(s *Scope, x, shape tfbridge.Output) tfbridge.Output {
	return s.Op1("BroadcastTo", nil, x, shape)
}
