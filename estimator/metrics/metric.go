package metrics

import (
	"encoding/json"
	"math"
	"slices"

	"millrace"
)

// Type is a kind of metric.
type Type string

// The kinds of metrics.
const (
	Accuracy          Type = "accuracy"            // share of predictions that are the label: integers, the class with the highest score, or one probability above 0.5
	TopK              Type = "top_k"               // share of labels among the K classes with the highest scores
	Precision         Type = "precision"           // share of predictions above Threshold whose label is not 0
	Recall            Type = "recall"              // share of labels other than 0 whose prediction is above Threshold
	AUC               Type = "auc"                 // area under the ROC curve, by 200 thresholds
	Mean              Type = "mean"                // mean of the predictions
	MeanSquaredError  Type = "mean_squared_error"  // mean of (label - prediction)²
	MeanAbsoluteError Type = "mean_absolute_error" // mean of |label - prediction|
	Perplexity        Type = "perplexity"          // exp of the mean cross entropy of the labels
	ConfusionMatrix   Type = "confusion_matrix"    // how often each class (row) was predicted as each class (column)

	BinaryAccuracy              Type = "binary_accuracy"                // share of labels 0 and 1 that the prediction, 1 above Threshold, equals
	F1Score                     Type = "f1_score"                       // harmonic mean of precision and recall, class by class
	PRAUC                       Type = "pr_auc"                         // area under the curve of precision over recall, Keras's AUC(curve="PR")
	PrecisionAtRecall           Type = "precision_at_recall"            // best precision where the recall is at least Recall, among 200 thresholds
	RootMeanSquaredError        Type = "root_mean_squared_error"        // square root of the mean of (label - prediction)²
	MeanAbsolutePercentageError Type = "mean_absolute_percentage_error" // mean of 100 · |label - prediction| / |label|
	R2Score                     Type = "r2_score"                       // 1 less the squared errors' part in the labels' variance, a mean over the last dimension
	MeanIoU                     Type = "mean_iou"                       // intersection over union of labels and predictions, a mean over the classes that occur
)

// Types lists all kinds, in the order of the documentation.
var Types = []Type{
	Accuracy, TopK, Precision, Recall, AUC, Mean, MeanSquaredError, MeanAbsoluteError, Perplexity, ConfusionMatrix,
	BinaryAccuracy, F1Score, PRAUC, PrecisionAtRecall, RootMeanSquaredError, MeanAbsolutePercentageError, R2Score, MeanIoU,
}

// Spec describes a metric.
type Spec struct {
	Type          Type
	K             int64   // for TopK; 0: 5
	Threshold     float64 // for Precision, Recall and BinaryAccuracy; 0: 0.5. For F1Score; 0: the highest score of several, 0.5 for one
	Average       string  // for F1Score: "macro", "micro" or "weighted"; "": "macro"
	Recall        float64 // for PrecisionAtRecall: above 0, at most 1
	Probabilities bool    // the predictions of Perplexity are probabilities and not logits
	Logits        bool    // the predictions of a metric of probabilities are logits; see [Type.OfProbabilities]

	Classes []string // names of the classes of ConfusionMatrix, in their order; nil: they have none

	// Own makes a metric of a type outside of this package, one for each evaluation. The other
	// fields are not used then. Nil: a metric of Type.
	Own func() Metric
}

// NeedsLabels reports whether a metric compares predictions with labels.
func (t Type) NeedsLabels() bool { return t != Mean }

// OfProbabilities reports whether a metric takes probabilities, as which it reads logits
// if the spec says that they are some. Without that, values outside [0, 1] have it warn,
// or fail in the case of Accuracy.
func (t Type) OfProbabilities() bool {
	switch t {
	case Accuracy, Precision, Recall, AUC, BinaryAccuracy, F1Score, PRAUC, PrecisionAtRecall:
		return true
	}
	return false
}

// Loss reports whether less is better.
func (t Type) Loss() bool {
	switch t {
	case MeanSquaredError, MeanAbsoluteError, Perplexity, RootMeanSquaredError, MeanAbsolutePercentageError:
		return true
	}
	return false
}

// Batch is the input of a metric from one batch.
type Batch struct {
	Labels      *Array // nil for a metric that needs none
	Predictions *Array
	Weights     *Array // weights of the labels, or of their first dimensions; nil: 1 for all
}

// Metric is a metric being computed. It is not safe for concurrent use.
type Metric interface {
	// Add adds a batch. An error is of class millrace.ErrModel: shapes do not
	// fit, or a label is out of range.
	Add(b *Batch) error
	// Result returns the value over the batches added so far: NaN where none of
	// them counts, as with Keras 0 where only the denominator is 0.
	Result() Value
}

// Value is the value of a metric.
type Value struct {
	Number float64
	Matrix [][]float64 // result of ConfusionMatrix, whose Number is NaN; nil for others

	Classes []string // names of the rows and columns of Matrix; nil: they have none
}

// ClassFigures are the figures of one class of a confusion matrix.
type ClassFigures struct {
	Name      string  `json:"name"`
	Precision float64 `json:"precision"` // share of its predictions that are right; 0 without predictions, as Keras has it
	Recall    float64 `json:"recall"`    // share of its labels that are predicted; 0 without labels
	F1Score   float64 `json:"f1_score"`
	Examples  float64 `json:"examples"` // labels of the class, by their weights
}

// PerClass returns the figures of each class, in their order; nil for values other than
// confusion matrices whose classes have names.
func (v Value) PerClass() []ClassFigures {
	var list []ClassFigures
	for i, name := range v.Classes {
		var labels, predictions float64
		for j := range v.Matrix {
			labels += v.Matrix[i][j]
			predictions += v.Matrix[j][i]
		}
		c := ClassFigures{Name: name, Examples: labels}
		if right := v.Matrix[i][i]; right > 0 {
			c.Precision, c.Recall, c.F1Score = right/predictions, right/labels, 2*right/(labels+predictions)
		}
		list = append(list, c)
	}
	return list
}

// MarshalJSON writes a number or a matrix, and a matrix of classes with names as an object
// with the names, the matrix and the figures of each class. JSON has no NaN and no
// infinity, so these are strings, as in the outputs of predictions.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case v.Classes != nil:
		return json.Marshal(struct {
			Classes  []string       `json:"classes"`
			Matrix   [][]float64    `json:"matrix"`
			PerClass []ClassFigures `json:"per_class"`
		}{v.Classes, v.Matrix, v.PerClass()})
	case v.Matrix != nil:
		return json.Marshal(v.Matrix)
	case math.IsNaN(v.Number):
		return []byte(`"NaN"`), nil
	case math.IsInf(v.Number, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v.Number, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(v.Number)
}

// ratio is a weighted share or mean.
type ratio struct{ sum, weight float64 }

func (r *ratio) add(value, weight float64) {
	r.sum += value * weight
	r.weight += weight
}

// value returns the mean, NaN of nothing.
func (r *ratio) value() Value {
	if r.weight == 0 {
		return Value{Number: math.NaN()}
	}
	return Value{Number: r.sum / r.weight}
}

// badShape is the error of arrays that do not fit each other.
func badShape(what string, b *Batch) error {
	if b.Labels == nil {
		return millrace.Errorf(millrace.ErrModel, "%s: predictions of shape %v", what, b.Predictions.Shape)
	}
	return millrace.Errorf(millrace.ErrModel, "%s: labels of shape %v, predictions of shape %v", what, b.Labels.Shape, b.Predictions.Shape)
}

// weightOf returns a function that gives the weight of element i of an array of
// a shape: each weight counts for as many elements as the dimensions that
// weights do not have.
func weightOf(w *Array, shape []int64) (func(i int) float64, error) {
	if w == nil {
		return func(int) float64 { return 1 }, nil
	}
	dims := w.Shape
	for len(dims) > len(shape) && dims[len(dims)-1] == 1 {
		dims = dims[:len(dims)-1]
	}
	if len(dims) > len(shape) || !slices.Equal(dims, shape[:len(dims)]) {
		return nil, millrace.Errorf(millrace.ErrModel, "weights of shape %v for values of shape %v", w.Shape, shape)
	}
	each := 1
	for _, d := range shape[len(dims):] {
		each *= int(d)
	}
	return func(i int) float64 { return w.Values[i/each] }, nil
}

// squeezed returns the labels' shape without a last dimension of 1 that the
// predictions lack or have as scores: Keras takes labels of shape [batch, 1]
// as [batch].
func squeezed(labels, predictions []int64) []int64 {
	n := len(labels)
	if n > 0 && labels[n-1] == 1 && !slices.Equal(labels, predictions) &&
		(n == len(predictions) || n == len(predictions)+1) {
		return labels[:n-1]
	}
	return labels
}
