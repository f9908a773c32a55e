package queue

import (
	"cmp"
	"fmt"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// AccumulatorOptions are the options of [NewConditionalAccumulator] and
// [NewSparseConditionalAccumulator]. Nil and the zero value mean the defaults.
type AccumulatorOptions struct {
	Options
	ReductionType string // result of TakeGrad: "MEAN" or "SUM"; "": "MEAN"
}

// accumulator is the common part of both kinds.
type accumulator struct {
	name, opType string
	prefix       string // prefix of the types of operations on it
	handle       tfbridge.Output
	dtype        tfbridge.DataType
	shape        tfbridge.Shape
}

// ConditionalAccumulator adds up gradients until there are enough of them, and drops
// late ones: gradients computed at a step before the accumulator's. Its step begins at
// 0, and TakeGrad increments it.
type ConditionalAccumulator struct{ accumulator }

// NewConditionalAccumulator adds an accumulator of gradients of a numeric data type.
// The zero Shape leaves the shape to the first gradient.
//
// It wraps ResourceConditionalAccumulator.
func NewConditionalAccumulator(s *graph.Scope, dtype tfbridge.DataType, shape tfbridge.Shape, o *AccumulatorOptions) *ConditionalAccumulator {
	return &ConditionalAccumulator{newAccumulator(s, "ResourceConditionalAccumulator", graph.Spec{DType: dtype, Shape: shape}, o)}
}

// newAccumulator checks the arguments and adds an accumulator.
func newAccumulator(s *graph.Scope, opType string, spec graph.Spec, o *AccumulatorOptions) accumulator {
	if o == nil {
		o = &AccumulatorOptions{}
	}
	a := accumulator{name: cmp.Or(o.Name, opType), opType: opType, dtype: spec.DType, shape: spec.Shape, prefix: "Accumulator"}
	if opType == "ResourceConditionalAccumulator" {
		a.prefix = "ResourceAccumulator"
	}
	reduction := cmp.Or(o.ReductionType, "MEAN")
	if !slices.Contains([]string{"MEAN", "SUM"}, reduction) {
		a.fail(s, millrace.Errorf(millrace.ErrModel, `ReductionType is %q, must be "MEAN" or "SUM"`, reduction))
	}
	if err := spec.Shape.Check(); err != nil {
		a.fail(s, millrace.Errorf(millrace.ErrModel, "%w", err))
	}
	op := s.AddOperation(tfbridge.OpSpec{Type: opType, Name: a.name, Attrs: map[string]any{
		"dtype": spec.DType, "shape": spec.Shape, "reduction_type": reduction,
		"shared_name": o.SharedName, "container": o.Container,
	}})
	if op != nil {
		a.handle, a.name = op.Output(0), op.Name()
	}
	return a
}

// Name returns the name of the accumulator's operation in the graph.
func (a *accumulator) Name() string { return a.name }

// String names the accumulator in messages.
func (a *accumulator) String() string { return fmt.Sprintf("accumulator %q (%s)", a.name, a.opType) }

// fail makes err, about this accumulator, the scope's failure.
func (a *accumulator) fail(s *graph.Scope, err error) { s.UpdateErr(a.String(), err) }

// NumAccumulated adds an operation that counts the gradients since the last
// TakeGrad, a scalar int32.
//
// It wraps ResourceAccumulatorNumAccumulated or AccumulatorNumAccumulated.
func (a *accumulator) NumAccumulated(s *graph.Scope) tfbridge.Output {
	return s.Op1(a.prefix+"NumAccumulated", nil, a.handle)
}

// SetGlobalStep adds an operation that sets the accumulator's step, a scalar int64.
//
// It wraps ResourceAccumulatorSetGlobalStep or AccumulatorSetGlobalStep.
func (a *accumulator) SetGlobalStep(s *graph.Scope, step tfbridge.Output) *tfbridge.Operation {
	if !a.check(s, "the step", step, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}) {
		return nil
	}
	return s.AddOperation(tfbridge.OpSpec{Type: a.prefix + "SetGlobalStep", Input: []tfbridge.Input{a.handle, scalar(s, step)}})
}

// check reports whether x is compatible with a spec. If not, it makes the scope fail.
func (a *accumulator) check(s *graph.Scope, what string, x tfbridge.Output, want graph.Spec) bool {
	if s.Err() != nil {
		return false
	}
	if got := graph.SpecOf(x); got.DType != want.DType || !got.Shape.IsCompatibleWith(want.Shape) {
		a.fail(s, millrace.Errorf(millrace.ErrModel, "%s is %v, must be %v", what, got, want))
		return false
	}
	return true
}

// ApplyGrad adds an operation that adds a gradient, which was computed at a step, a
// scalar int64. It drops the gradient silently if the step is before the accumulator's.
//
// It wraps ResourceAccumulatorApplyGradient.
func (a *ConditionalAccumulator) ApplyGrad(s *graph.Scope, gradient, step tfbridge.Output) *tfbridge.Operation {
	if !a.check(s, "the gradient", gradient, graph.Spec{DType: a.dtype, Shape: a.shape}) ||
		!a.check(s, "the step", step, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}) {
		return nil
	}
	return s.AddOperation(tfbridge.OpSpec{Type: "ResourceAccumulatorApplyGradient", Input: []tfbridge.Input{a.handle, scalar(s, step), gradient}})
}

// TakeGrad adds an operation that waits for n gradients, a scalar int32 of at least
// 1, and returns their mean or sum. It resets the accumulator, and adds 1 to its
// step.
//
// It wraps ResourceAccumulatorTakeGradient.
func (a *ConditionalAccumulator) TakeGrad(s *graph.Scope, n tfbridge.Output) tfbridge.Output {
	if !a.check(s, "the number of gradients", n, graph.Spec{DType: tfbridge.Int32, Shape: tfbridge.ScalarShape()}) {
		return tfbridge.Output{}
	}
	sum := s.Op1("ResourceAccumulatorTakeGradient", map[string]any{"dtype": a.dtype}, a.handle, scalar(s, n))
	if s.Err() == nil {
		s.UpdateErr(a.String(), s.Graph().SetShape(sum, a.shape))
	}
	return sum
}
