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
	BinaryFocal               Type = "binary_focal_crossentropy"
	CategoricalFocal          Type = "categorical_focal_crossentropy"
	KLDivergence              Type = "kl_divergence"
	Poisson                   Type = "poisson"
	CTC                       Type = "ctc" // labels are class numbers padded by 0, the blank; predictions are logits [batch, steps, classes]

	MeanSquaredError            Type = "mean_squared_error"
	MeanAbsoluteError           Type = "mean_absolute_error"
	MeanAbsolutePercentageError Type = "mean_absolute_percentage_error"
	MeanSquaredLogarithmicError Type = "mean_squared_logarithmic_error"
	Huber                       Type = "huber"
	LogCosh                     Type = "log_cosh"
	CosineSimilarity            Type = "cosine_similarity" // -1: the same direction

	Hinge            Type = "hinge" // labels are -1 and 1, or 0 and 1
	SquaredHinge     Type = "squared_hinge"
	CategoricalHinge Type = "categorical_hinge" // labels are one-hot

	// ModelOutput is a loss that the model computes itself, such as the penalties of its
	// layers (Keras's model.losses): the mean of an output, which has no labels.
	ModelOutput Type = "output"
)

// Types returns all losses.
func Types() []Type {
	return []Type{
		SparseSoftmaxCrossEntropy, SoftmaxCrossEntropy, SigmoidCrossEntropy, MeanSquaredError, MeanAbsoluteError, Huber,
		BinaryFocal, CategoricalFocal, KLDivergence, Poisson, CTC, MeanAbsolutePercentageError, MeanSquaredLogarithmicError, LogCosh,
		CosineSimilarity, Hinge, SquaredHinge, CategoricalHinge, ModelOutput,
	}
}

// NeedsLabels reports whether the loss compares predictions with labels.
func (t Type) NeedsLabels() bool { return t != ModelOutput }

// CrossEntropy reports whether the predictions of the loss are logits or
// probabilities.
func (t Type) CrossEntropy() bool {
	return t == SparseSoftmaxCrossEntropy || t == SoftmaxCrossEntropy || t == SigmoidCrossEntropy || t.Focal()
}

// Smooths reports whether the loss takes label smoothing.
func (t Type) Smooths() bool {
	return t == SoftmaxCrossEntropy || t == SigmoidCrossEntropy || t.Focal()
}

// Focal reports whether the loss weighs examples by how wrong their predictions are.
func (t Type) Focal() bool { return t == BinaryFocal || t == CategoricalFocal }

// Reduction says how the losses of a batch's examples become one number.
type Reduction string

// The reductions, as in Keras.
const (
	SumOverBatchSize     Reduction = ""     // the mean of the weighted losses
	Sum                  Reduction = "sum"  // their sum
	MeanWithSampleWeight Reduction = "mean" // their sum by the sum of the weights
	None                 Reduction = "none" // a loss for each example
)

// Function is a loss from elsewhere. Weights and reductions of a [Loss] apply to it.
type Function interface {
	// Name returns the name of the loss, for the names of operations.
	Name() string
	// Values adds the loss of each example of a batch and returns it, of the data type of
	// the predictions. Labels have that type too.
	Values(s *graph.Scope, labels, predictions tfbridge.Output) tfbridge.Output
}

// Loss is a loss with its parameters.
type Loss struct {
	Type          Type
	Function      Function // used if Type is ""
	Probabilities bool     // predictions of a cross entropy are probabilities; false: logits
	Reduction     Reduction

	Delta          float64   // Huber: the error at which the parabola becomes a line; 0: 1
	LabelSmoothing float64   // SoftmaxCrossEntropy, SigmoidCrossEntropy and focal losses: the share of each label that all classes get alike
	Gamma          float64   // focal losses: the power of the wrong part; 0: 2
	Alpha          float64   // focal losses: the weight of the positive class, or of all; 0: 0.25
	ClassBalancing bool      // BinaryFocal: use Alpha
	ClassWeights   []float64 // weights of the examples by their class, which the labels name; a class beyond them counts 1
}

// Values are the tensors that a loss is computed from.
type Values struct {
	Labels      tfbridge.Output
	Predictions tfbridge.Output
	Weights     tfbridge.Output // one for each example, or for each value of a loss; not set: all are 1
}

// check checks what does not depend on the graph's shapes.
func (l *Loss) check(v Values) error {
	switch {
	case l.Function != nil && l.Type != "":
		return millrace.Errorf(millrace.ErrConfig, "a loss has either a type or a function, and here it has %s and a function", millrace.Quote(string(l.Type)))
	case l.Function == nil && !slices.Contains(Types(), l.Type):
		return millrace.Errorf(millrace.ErrConfig, "there is no loss %s; there are %v", millrace.Quote(string(l.Type)), Types())
	case !slices.Contains([]Reduction{SumOverBatchSize, Sum, MeanWithSampleWeight, None}, l.Reduction):
		return millrace.Errorf(millrace.ErrConfig, "there is no reduction %s", millrace.Quote(string(l.Reduction)))
	case l.Probabilities && !l.Type.CrossEntropy():
		return millrace.Errorf(millrace.ErrConfig, "the predictions of %s are neither logits nor probabilities", l.name())
	case v.Predictions.Op == nil || v.Labels.Op == nil && l.Type.NeedsLabels():
		return millrace.Errorf(millrace.ErrModel, "%s needs labels and predictions", l.name())
	}
	if err := l.checkParameters(); err != nil {
		return err
	}
	if dt := v.Predictions.DataType(); !slices.Contains([]tfbridge.DataType{tfbridge.Float, tfbridge.Double, tfbridge.Half, tfbridge.Bfloat16}, dt) {
		return millrace.Errorf(millrace.ErrModel, "the predictions %v are %v; a loss needs a floating point type", v.Predictions, dt)
	}
	if v.Labels.Op != nil && v.Labels.DataType() == tfbridge.String {
		return millrace.Errorf(millrace.ErrModel, "the labels %v are strings; a loss needs numbers", v.Labels)
	}
	return nil
}

// checkParameters checks the numbers.
func (l *Loss) checkParameters() error {
	bad := func(x float64) bool { return x < 0 || math.IsNaN(x) || math.IsInf(x, 0) }
	switch {
	case bad(l.Delta) || l.Delta != 0 && l.Type != Huber:
		return millrace.Errorf(millrace.ErrConfig, "delta is %v; it must be positive, and belongs to huber", l.Delta)
	case bad(l.LabelSmoothing) || l.LabelSmoothing > 1 || l.LabelSmoothing != 0 && !l.Type.Smooths():
		return millrace.Errorf(millrace.ErrConfig, "label_smoothing is %v; it must be between 0 and 1, and belongs to cross entropies of distributions", l.LabelSmoothing)
	case bad(l.Gamma) || bad(l.Alpha) || (l.Gamma != 0 || l.Alpha != 0) && !l.Type.Focal():
		return millrace.Errorf(millrace.ErrConfig, "gamma is %v and alpha %v; they must be positive, and belong to focal losses", l.Gamma, l.Alpha)
	case l.ClassBalancing && l.Type != BinaryFocal:
		return millrace.Errorf(millrace.ErrConfig, "apply_class_balancing belongs to %s", BinaryFocal)
	case slices.ContainsFunc(l.ClassWeights, bad):
		return millrace.Errorf(millrace.ErrConfig, "class_weights are %v; a weight must be 0 or positive", l.ClassWeights)
	case len(l.ClassWeights) > 0 && (l.Type == CTC || !l.Type.NeedsLabels()):
		return millrace.Errorf(millrace.ErrConfig, "%s has no classes to weigh", l.name())
	}
	return nil
}

// name returns the name of the loss.
func (l *Loss) name() string {
	if l.Function != nil {
		return l.Function.Name()
	}
	return string(l.Type)
}

// String returns the loss's name and what its predictions are.
func (l *Loss) String() string {
	if l.Type.CrossEntropy() && l.Probabilities {
		return fmt.Sprintf("%s from probabilities", l.Type)
	}
	return l.name()
}
