package losses

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Add adds the loss and returns it: a scalar of the data type of the predictions.
// Predictions of float16 and bfloat16 are converted to float32 first, as in Keras.
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
	if dt := v.Predictions.DataType(); l.Type != ModelOutput && (dt == tfbridge.Half || dt == tfbridge.Bfloat16) {
		v.Predictions = graph.Cast(s, v.Predictions, tfbridge.Float)
	}
	a := &adder{s: s.SubScope(l.name()), loss: l, dtype: v.Predictions.DataType()}
	values := a.values(v)
	if a.s.Err() != nil {
		return tfbridge.Output{}
	}
	var weights tfbridge.Output
	weigh := func(w tfbridge.Output) {
		values, w = a.sameRank(values, w, false)
		values = graph.Mul(a.s, values, w)
		if weights.Op != nil {
			w = graph.Mul(a.s, weights, w)
		}
		weights = w
	}
	if len(l.ClassWeights) > 0 {
		weigh(a.classWeights(v.Labels))
	}
	if v.Weights.Op != nil {
		weigh(graph.Cast(a.s, v.Weights, a.dtype))
	}
	return a.reduce(values, weights)
}

// values returns the loss of each example, before weights.
func (a *adder) values(v Values) tfbridge.Output {
	s := a.s
	switch a.loss.Type {
	case SparseSoftmaxCrossEntropy:
		return a.sparse(graph.Cast(s, v.Labels, tfbridge.Int64), v.Predictions)
	case CTC:
		return a.ctc(v.Labels, v.Predictions)
	case ModelOutput:
		return v.Predictions
	}
	labels, predictions := a.sameRank(graph.Cast(s, v.Labels, a.dtype), v.Predictions, true)
	if a.loss.Function == nil {
		if err := a.agree(graph.SpecOf(labels).Shape, graph.SpecOf(predictions).Shape); err != nil {
			s.UpdateErr("loss", err)
			return tfbridge.Output{}
		}
	}
	if graph.SpecOf(predictions).Shape.NumDimensions() == 1 { // one number for each example
		labels, predictions = graph.ExpandDims(s, labels, -1), graph.ExpandDims(s, predictions, -1)
	}
	if a.loss.LabelSmoothing > 0 {
		labels = a.smooth(labels)
	}
	if f := a.loss.Function; f != nil {
		return f.Values(s, labels, predictions)
	}
	return functions[a.loss.Type](a, labels, predictions)
}

// agree refuses shapes that TensorFlow would broadcast, or refuse in the first step: labels of one
// number for predictions of several classes are right by chance if a batch has as many rows as there
// are classes. Unknown sizes agree with any.
func (a *adder) agree(labels, predictions tfbridge.Shape) error {
	n := labels.NumDimensions()
	same := n < 0 || predictions.NumDimensions() < 0 || n == predictions.NumDimensions()
	for i := 0; same && n > 0 && i < n && predictions.NumDimensions() == n; i++ {
		x, y := labels.Size(i), predictions.Size(i)
		same = x == y || x < 0 || y < 0 || x == 1 || y == 1
	}
	if same {
		return nil
	}
	hint := ""
	if a.loss.Type == SoftmaxCrossEntropy || a.loss.Type == CategoricalFocal || a.loss.Type == CategoricalHinge || a.loss.Type == KLDivergence {
		hint = ": make classes one-hot (processing step one_hot), or take sparse_softmax_cross_entropy"
	}
	return millrace.Errorf(millrace.ErrConfig, "the labels have the shape %v and the predictions %v; %s compares numbers at the same places%s", labels, predictions, a.loss.name(), hint)
}

// functions are the losses whose labels have the shape of the predictions.
var functions = map[Type]func(a *adder, labels, predictions tfbridge.Output) tfbridge.Output{
	SoftmaxCrossEntropy: (*adder).softmax,
	SigmoidCrossEntropy: func(a *adder, y, p tfbridge.Output) tfbridge.Output { return a.mean(a.sigmoid(y, p)) },
	BinaryFocal:         (*adder).binaryFocal,
	CategoricalFocal:    (*adder).categoricalFocal,
	KLDivergence:        (*adder).divergence,
	Poisson:             (*adder).poisson,
	MeanSquaredError: func(a *adder, y, p tfbridge.Output) tfbridge.Output {
		return a.mean(a.s.Op1("Square", nil, graph.Sub(a.s, p, y)))
	},
	MeanAbsoluteError: func(a *adder, y, p tfbridge.Output) tfbridge.Output {
		return a.mean(a.s.Op1("Abs", nil, graph.Sub(a.s, p, y)))
	},
	MeanAbsolutePercentageError: (*adder).percentage,
	MeanSquaredLogarithmicError: (*adder).logarithmic,
	Huber:                       func(a *adder, y, p tfbridge.Output) tfbridge.Output { return a.mean(a.huber(graph.Sub(a.s, p, y))) },
	LogCosh:                     func(a *adder, y, p tfbridge.Output) tfbridge.Output { return a.mean(a.logCosh(graph.Sub(a.s, p, y))) },
	CosineSimilarity:            (*adder).cosine,
	Hinge:                       func(a *adder, y, p tfbridge.Output) tfbridge.Output { return a.mean(a.hinge(y, p)) },
	SquaredHinge: func(a *adder, y, p tfbridge.Output) tfbridge.Output {
		return a.mean(a.s.Op1("Square", nil, a.hinge(y, p)))
	},
	CategoricalHinge: (*adder).categoricalHinge,
}
