package losses

import (
	"fmt"
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Type names a loss, as a run config does.
type Type string

// The losses, with their names in Keras.
const (
	SparseSoftmaxCrossEntropy Type = "sparse_softmax_cross_entropy" // SparseCategoricalCrossentropy; labels are class numbers
	SoftmaxCrossEntropy       Type = "softmax_cross_entropy"        // CategoricalCrossentropy; labels are distributions
	SigmoidCrossEntropy       Type = "sigmoid_cross_entropy"        // BinaryCrossentropy
	MeanSquaredError          Type = "mean_squared_error"
	MeanAbsoluteError         Type = "mean_absolute_error"
	Huber                     Type = "huber"
)

// Types returns all losses.
func Types() []Type {
	return []Type{SparseSoftmaxCrossEntropy, SoftmaxCrossEntropy, SigmoidCrossEntropy, MeanSquaredError, MeanAbsoluteError, Huber}
}

// Reduction says how the losses of a batch's examples become one number.
type Reduction string

// The reductions, as in Keras.
const (
	SumOverBatchSize     Reduction = ""     // the mean of the weighted losses
	Sum                  Reduction = "sum"  // their sum
	MeanWithSampleWeight Reduction = "mean" // their sum by the sum of the weights
	None                 Reduction = "none" // a loss for each example
)

// Loss is a loss with its parameters.
type Loss struct {
	Type          Type
	Probabilities bool    // predictions of a cross entropy are probabilities; false: logits
	Delta         float64 // for Huber: the error at which the parabola becomes a line; 0: 1
	Reduction     Reduction
}

// Values are the tensors that a loss is computed from.
type Values struct {
	Labels      tfbridge.Output
	Predictions tfbridge.Output
	Weights     tfbridge.Output // one for each example, or for each value of a loss; not set: all are 1
}

// Add adds the loss and returns it: a scalar of the data type of the predictions.
// Labels and weights are converted to that type, labels of
// SparseSoftmaxCrossEntropy to int64. One of labels and predictions may have a last
// dimension of 1 that the other lacks. A failure is the scope's.
func (l *Loss) Add(s *graph.Scope, v Values) tfbridge.Output {
	if err := l.check(v); err != nil {
		s.UpdateErr("loss", err)
	}
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	a := &adder{s: s.SubScope(string(l.Type)), loss: l, dtype: v.Predictions.DataType()}
	values := a.values(v)
	var weights tfbridge.Output
	if v.Weights.Op != nil {
		values, weights = a.sameRank(values, graph.Cast(a.s, v.Weights, a.dtype), false)
		values = graph.Mul(a.s, values, weights)
	}
	return a.reduce(values, weights)
}

// check checks what does not depend on the graph's shapes.
func (l *Loss) check(v Values) error {
	switch {
	case !slices.Contains(Types(), l.Type):
		return millrace.Errorf(millrace.ErrConfig, "there is no loss %s; there are %v", millrace.Quote(string(l.Type)), Types())
	case !slices.Contains([]Reduction{SumOverBatchSize, Sum, MeanWithSampleWeight, None}, l.Reduction):
		return millrace.Errorf(millrace.ErrConfig, "there is no reduction %s", millrace.Quote(string(l.Reduction)))
	case l.Probabilities && !l.crossEntropy():
		return millrace.Errorf(millrace.ErrConfig, "the predictions of %s are neither logits nor probabilities", l.Type)
	case l.Delta < 0 || math.IsNaN(l.Delta) || l.Delta != 0 && l.Type != Huber:
		return millrace.Errorf(millrace.ErrConfig, "delta is %v; it must be positive, and belongs to huber", l.Delta)
	case v.Labels.Op == nil || v.Predictions.Op == nil:
		return millrace.Errorf(millrace.ErrModel, "%s needs labels and predictions", l.Type)
	}
	if dt := v.Predictions.DataType(); !slices.Contains([]tfbridge.DataType{tfbridge.Float, tfbridge.Double, tfbridge.Half, tfbridge.Bfloat16}, dt) {
		return millrace.Errorf(millrace.ErrModel, "the predictions %v are %v; a loss needs a floating point type", v.Predictions, dt)
	}
	if dt := v.Labels.DataType(); dt == tfbridge.String {
		return millrace.Errorf(millrace.ErrModel, "the labels %v are strings; a loss needs numbers", v.Labels)
	}
	return nil
}

// crossEntropy reports whether the loss has logits or probabilities.
func (l *Loss) crossEntropy() bool {
	return l.Type == SparseSoftmaxCrossEntropy || l.Type == SoftmaxCrossEntropy || l.Type == SigmoidCrossEntropy
}

// String returns the loss's name and what its predictions are.
func (l *Loss) String() string {
	if l.crossEntropy() && l.Probabilities {
		return fmt.Sprintf("%s from probabilities", l.Type)
	}
	return string(l.Type)
}
