package losses

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// rows returns x as a matrix that keeps the last dimension, as TensorFlow's cross
// entropies need it, and the shape of the other dimensions.
func (a *adder) rows(x tfbridge.Output) (rows, outer tfbridge.Output) {
	s := a.s
	shape := graph.Shape(s, x)
	last := graph.Subscript(s, shape, graph.From(-1))
	rows = graph.Reshape(s, x, graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{-1}), last}, 0))
	return rows, graph.Subscript(s, shape, graph.Until(-1))
}

// sparse is the cross entropy of class numbers.
func (a *adder) sparse(labels, predictions tfbridge.Output) tfbridge.Output {
	logits := predictions
	if a.loss.Probabilities {
		logits = a.logits(predictions, "Softmax", func(p tfbridge.Output) tfbridge.Output { return a.s.Op1("Log", nil, a.clip(p)) })
	}
	logits, outer := a.rows(logits)
	classes := graph.Reshape(a.s, labels, a.s.Const([]int64{-1}))
	values := a.s.Op1("SparseSoftmaxCrossEntropyWithLogits", nil, logits, classes)
	return graph.Reshape(a.s, values, outer)
}

// softmax is the cross entropy of distributions.
func (a *adder) softmax(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	if a.loss.Probabilities {
		logits, ok := inputOf(predictions, "Softmax")
		if !ok {
			axis := s.Const(int32(-1))
			total := s.Op1("Sum", map[string]any{"keep_dims": true}, predictions, axis)
			logs := s.Op1("Log", nil, a.clip(s.Op1("RealDiv", nil, predictions, total)))
			return s.Op1("Neg", nil, graph.Sum(s, graph.Mul(s, labels, logs), axis))
		}
		predictions = logits
	}
	logits, outer := a.rows(predictions)
	distributions, _ := a.rows(labels)
	values := s.Op1("SoftmaxCrossEntropyWithLogits", nil, logits, distributions)
	return graph.Reshape(s, values, outer)
}

// sigmoid is the cross entropy of yes and no. From logits x and labels z it is
// max(x, 0) - x z + log(1 + exp(-|x|)), which does not overflow.
func (a *adder) sigmoid(labels, predictions tfbridge.Output) tfbridge.Output {
	s, one := a.s, a.scalar(1)
	if a.loss.Probabilities {
		x, ok := inputOf(predictions, "Sigmoid")
		if !ok {
			p := a.clip(predictions)
			yes := graph.Mul(s, labels, s.Op1("Log", nil, p))
			no := graph.Mul(s, graph.Sub(s, one, labels), s.Op1("Log", nil, graph.Sub(s, one, p)))
			return s.Op1("Neg", nil, graph.Add(s, yes, no))
		}
		predictions = x
	}
	zero := s.Op1("ZerosLike", nil, predictions)
	positive := graph.GreaterEqual(s, predictions, zero)
	relu := graph.Select(s, positive, predictions, zero)
	negative := graph.Select(s, positive, s.Op1("Neg", nil, predictions), predictions) // -|x|
	return graph.Add(s, graph.Sub(s, relu, graph.Mul(s, predictions, labels)), s.Op1("Log1p", nil, s.Op1("Exp", nil, negative)))
}

// logits returns the logits of probabilities: the input of the operation of type opType
// if one made them, or else the result of from.
func (a *adder) logits(p tfbridge.Output, opType string, from func(tfbridge.Output) tfbridge.Output) tfbridge.Output {
	if x, ok := inputOf(p, opType); ok {
		return x
	}
	return from(p)
}

// inputOf returns the input of an operation of a type, if that operation made x. Like
// Keras, a loss of probabilities from Softmax or Sigmoid is better computed from the
// inputs of these.
func inputOf(x tfbridge.Output, opType string) (tfbridge.Output, bool) {
	for x.Op.Type() == "Identity" {
		x = x.Op.Inputs()[0]
	}
	if x.Op.Type() != opType {
		return tfbridge.Output{}, false
	}
	return x.Op.Inputs()[0], true
}
