package queue

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// IndexedSlices is a gradient given by some of its slices along the first dimension;
// the others are 0.
type IndexedSlices struct {
	Values     tfbridge.Output // the slices, stacked
	Indices    tfbridge.Output // the index of each slice, a vector of int64
	DenseShape tfbridge.Output // shape of the whole, a vector of int64; the zero Output: unknown
}

// SparseConditionalAccumulator is a [ConditionalAccumulator] of [IndexedSlices].
type SparseConditionalAccumulator struct{ accumulator }

// NewSparseConditionalAccumulator adds an accumulator of gradients of a numeric data
// type. The shape is the dense shape of a gradient; the zero Shape leaves it open.
//
// It wraps SparseConditionalAccumulator. TensorFlow has no resource for it, so that
// functions cannot use the accumulator.
func NewSparseConditionalAccumulator(s *graph.Scope, dtype tfbridge.DataType, shape tfbridge.Shape, o *AccumulatorOptions) *SparseConditionalAccumulator {
	return &SparseConditionalAccumulator{newAccumulator(s, "SparseConditionalAccumulator", graph.Spec{DType: dtype, Shape: shape}, o)}
}

// ApplyGrad adds an operation that adds a gradient, which was computed at a step, a
// scalar int64. It drops the gradient silently if the step is before the accumulator's.
//
// It wraps SparseAccumulatorApplyGradient.
func (a *SparseConditionalAccumulator) ApplyGrad(s *graph.Scope, gradient IndexedSlices, step tfbridge.Output) *tfbridge.Operation {
	vector := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}
	if !a.check(s, "the gradient's values", gradient.Values, graph.Spec{DType: a.dtype}) ||
		!a.check(s, "the gradient's indices", gradient.Indices, vector) ||
		!a.check(s, "the step", step, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}) {
		return nil
	}
	known := gradient.DenseShape.Op != nil
	if !known {
		gradient.DenseShape = s.Zeros(tfbridge.Int64, 0)
	}
	if !a.check(s, "the gradient's shape", gradient.DenseShape, vector) {
		return nil
	}
	return s.AddOperation(tfbridge.OpSpec{
		Type: "SparseAccumulatorApplyGradient", Attrs: map[string]any{"has_known_shape": known},
		Input: []tfbridge.Input{a.handle, scalar(s, step), gradient.Indices, gradient.Values, gradient.DenseShape},
	})
}

// TakeGrad adds an operation that waits for n gradients, a scalar int32 of at least 1,
// and returns their mean or sum, which has every slice that any of them has. It resets
// the accumulator, and adds 1 to its step.
//
// It wraps SparseAccumulatorTakeGradient.
func (a *SparseConditionalAccumulator) TakeGrad(s *graph.Scope, n tfbridge.Output) IndexedSlices {
	if !a.check(s, "the number of gradients", n, graph.Spec{DType: tfbridge.Int32, Shape: tfbridge.ScalarShape()}) {
		return IndexedSlices{}
	}
	out := s.Op("SparseAccumulatorTakeGradient", map[string]any{"dtype": a.dtype}, a.handle, scalar(s, n))
	return IndexedSlices{Indices: out[0], Values: out[1], DenseShape: out[2]}
}
