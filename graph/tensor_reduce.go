package graph

import "slices"

// Sum adds a Sum along axes, or of everything.
func (t Tensor) Sum(axes ...int64) Tensor { return t.reduce("Sum", axes) }

// Mean adds a Mean along axes, or of everything. Integers give an integer, cut
// off.
func (t Tensor) Mean(axes ...int64) Tensor { return t.reduce("Mean", axes) }

// Prod adds a Prod along axes, or of everything.
func (t Tensor) Prod(axes ...int64) Tensor { return t.reduce("Prod", axes) }

// Max adds a Max along axes, or of everything.
func (t Tensor) Max(axes ...int64) Tensor { return t.reduce("Max", axes) }

// Min adds a Min along axes, or of everything.
func (t Tensor) Min(axes ...int64) Tensor { return t.reduce("Min", axes) }

// All adds an All along axes, or of everything: whether all bools are true.
func (t Tensor) All(axes ...int64) Tensor { return t.reduce("All", axes) }

// Any adds an Any along axes, or of everything: whether some bool is true.
func (t Tensor) Any(axes ...int64) Tensor { return t.reduce("Any", axes) }

// ArgMax adds an ArgMax: the index of the greatest element along an axis, the first of
// equal ones, as int64.
func (t Tensor) ArgMax(axis int64) Tensor { return t.constant("ArgMax", axis) }

// ArgMin adds an ArgMin: the index of the least element along an axis, the first of
// equal ones, as int64.
func (t Tensor) ArgMin(axis int64) Tensor { return t.constant("ArgMin", axis) }

// reduce adds a reduction; over all axes if none are given.
func (t Tensor) reduce(opType string, axes []int64) Tensor {
	if t.scope == nil {
		return t
	}
	if len(axes) == 0 {
		return t.apply(opType, nil, axesOf(t.scope, t.output))
	}
	return t.constant(opType, slices.Clone(axes))
}
