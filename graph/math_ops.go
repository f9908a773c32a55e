package graph

import (
	"millrace/tfbridge"
)

// Add adds an AddV2.
func Add(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("AddV2", nil, x, y)
}

// Sub adds a Sub.
func Sub(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("Sub", nil, x, y)
}

// Mul adds a Mul.
func Mul(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("Mul", nil, x, y)
}

// FloorDiv adds a FloorDiv.
func FloorDiv(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("FloorDiv", nil, x, y)
}

// FloorMod adds a FloorMod.
func FloorMod(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("FloorMod", nil, x, y)
}

// Minimum adds a Minimum, element by element.
func Minimum(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("Minimum", nil, x, y)
}

// Maximum adds a Maximum, element by element.
func Maximum(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("Maximum", nil, x, y)
}

// Sum adds a Sum along axes, a vector or scalar of int32 or int64.
func Sum(s *Scope, x, axes tfbridge.Output) tfbridge.Output {
	return s.Op1("Sum", nil, x, axes)
}

// ReduceSum adds a Sum along all axes.
func ReduceSum(s *Scope, x tfbridge.Output) tfbridge.Output {
	return Sum(s, x, axesOf(s, x))
}

// Max adds a Max along axes, a vector or scalar of int32 or int64.
func Max(s *Scope, x, axes tfbridge.Output) tfbridge.Output {
	return s.Op1("Max", nil, x, axes)
}

// Min adds a Min along axes, a vector or scalar of int32 or int64.
func Min(s *Scope, x, axes tfbridge.Output) tfbridge.Output {
	return s.Op1("Min", nil, x, axes)
}

// Cumsum adds a Cumsum along an axis: the sums up to and with each element.
func Cumsum(s *Scope, x tfbridge.Output, axis int64) tfbridge.Output {
	return s.Op1("Cumsum", nil, x, s.Const(axis))
}

// Cumprod adds a Cumprod along an axis: the products up to and with each
// element.
func Cumprod(s *Scope, x tfbridge.Output, axis int64) tfbridge.Output {
	return s.Op1("Cumprod", nil, x, s.Const(axis))
}

// axesOf returns all axes of x, as a constant when its rank is known.
func axesOf(s *Scope, x tfbridge.Output) tfbridge.Output {
	if s.Err() != nil || x.Op == nil {
		return tfbridge.Output{}
	}
	rank := x.Shape().NumDimensions()
	if rank < 0 {
		return Range(s, s.Const(int32(0)), Rank(s, x), s.Const(int32(1)))
	}
	axes := make([]int32, rank)
	for i := range axes {
		axes[i] = int32(i)
	}
	return s.Const(axes)
}
