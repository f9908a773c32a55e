package losses

import (
	"cmp"

	"millrace/graph"
	"millrace/tfbridge"
)

// smooth distributes a share of each label equally to all classes.
func (a *adder) smooth(labels tfbridge.Output) tfbridge.Output {
	s, share := a.s, a.loss.LabelSmoothing
	kept := graph.Mul(s, labels, a.scalar(1-share))
	if a.loss.Type == SigmoidCrossEntropy || a.loss.Type == BinaryFocal {
		return graph.Add(s, kept, a.scalar(0.5*share))
	}
	classes := graph.Cast(s, graph.Subscript(s, graph.Shape(s, labels), graph.At(-1)), a.dtype)
	return graph.Add(s, kept, s.Op1("RealDiv", nil, a.scalar(share), classes))
}

// binaryFocal is the cross entropy of yes and no, times the wrong part of the
// prediction to the power of gamma.
func (a *adder) binaryFocal(labels, predictions tfbridge.Output) tfbridge.Output {
	s, one := a.s, a.scalar(1)
	p := predictions
	if !a.loss.Probabilities {
		p = s.Op1("Sigmoid", nil, p)
	}
	no := graph.Sub(s, one, labels)
	inner := *a.loss
	inner.Type, inner.Probabilities = SigmoidCrossEntropy, true
	entropy := (&adder{s: s, loss: &inner, dtype: a.dtype}).sigmoid(labels, p)
	right := graph.Add(s, graph.Mul(s, labels, p), graph.Mul(s, no, graph.Sub(s, one, p)))
	value := graph.Mul(s, a.power(graph.Sub(s, one, right)), entropy)
	if a.loss.ClassBalancing {
		alpha := cmp.Or(a.loss.Alpha, 0.25)
		value = graph.Mul(s, graph.Add(s, graph.Mul(s, labels, a.scalar(alpha)), graph.Mul(s, no, a.scalar(1-alpha))), value)
	}
	return a.mean(value)
}

// categoricalFocal is the cross entropy of distributions, each class times the wrong
// part of its prediction to the power of gamma.
func (a *adder) categoricalFocal(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	p := predictions
	if !a.loss.Probabilities {
		p = s.Op1("Softmax", nil, p)
	}
	total := s.Op1("Sum", map[string]any{"keep_dims": true}, p, s.Const(int32(-1)))
	p = a.clip(s.Op1("RealDiv", nil, p, total))
	entropy := s.Op1("Neg", nil, graph.Mul(s, labels, a.log(p)))
	factor := graph.Mul(s, a.power(graph.Sub(s, a.scalar(1), p)), a.scalar(cmp.Or(a.loss.Alpha, 0.25)))
	return a.sum(graph.Mul(s, factor, entropy))
}

// power returns x to the power of gamma.
func (a *adder) power(x tfbridge.Output) tfbridge.Output {
	return a.s.Op1("Pow", nil, x, a.scalar(cmp.Or(a.loss.Gamma, 2)))
}

// classWeights returns the weight of each example's class. The class of one-hot labels
// and distributions is the one with the largest value.
func (a *adder) classWeights(labels tfbridge.Output) tfbridge.Output {
	s := a.s
	classes := labels
	shape := graph.SpecOf(labels).Shape
	switch last := shape.NumDimensions() - 1; {
	case last >= 1 && shape.Size(last) == 1:
		classes = graph.Squeeze(s, labels, int64(last))
	case last >= 1 && a.loss.Type != SparseSoftmaxCrossEntropy:
		classes = s.Op1("ArgMax", nil, graph.Cast(s, labels, tfbridge.Float), s.Const(int32(-1)))
	}
	weights := make([]float32, len(a.loss.ClassWeights)+1)
	for i, w := range a.loss.ClassWeights {
		weights[i] = float32(w)
	}
	beyond := int64(len(a.loss.ClassWeights))
	weights[beyond] = 1
	classes = graph.Cast(s, classes, tfbridge.Int64)
	known := graph.LogicalAnd(s, graph.GreaterEqual(s, classes, s.Const(int64(0))), graph.Less(s, classes, s.Const(beyond)))
	at := graph.Select(s, known, classes, s.Const(beyond))
	return graph.Cast(s, graph.GatherV2(s, s.Const(weights), at, 0), a.dtype)
}

// ctc is the loss of connectionist temporal classification: the negative logarithm of the
// probability of all alignments of the labels with the steps. Keras's blank is class 0,
// TensorFlow's operation wants it last, so the classes are rotated by one:
//
//	Keras     blank  a  b  c        labels 1 2 3, padded by 0
//	CTCLoss   a  b  c  blank        labels 0 1 2, sparse
func (a *adder) ctc(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	logits := s.Op1("Transpose", nil, graph.Cast(s, predictions, tfbridge.Float), s.Const([]int32{1, 0, 2}))
	rest := graph.Subscript(s, logits, graph.Whole(), graph.Whole(), graph.From(1))
	blank := graph.Subscript(s, logits, graph.Whole(), graph.Whole(), graph.Between(0, 1))
	logits = graph.ConcatV2(s, []tfbridge.Output{rest, blank}, 2)

	labels = graph.Cast(s, labels, tfbridge.Int32)
	zero := s.Const(int32(0))
	lengths := graph.Sum(s, graph.Cast(s, graph.NotEqual(s, labels, zero), tfbridge.Int32), s.Const(int32(-1)))
	width := graph.Cast(s, graph.Subscript(s, graph.Shape(s, labels), graph.At(1)), tfbridge.Int32)
	counted := graph.Less(s, graph.Range(s, zero, width, s.Const(int32(1))), graph.ExpandDims(s, lengths, -1))
	indices := graph.Where(s, counted)
	values := graph.Sub(s, s.Op1("GatherNd", nil, labels, indices), s.Const(int32(1)))

	shape := graph.Shape(s, predictions)
	steps := graph.Cast(s, graph.Subscript(s, shape, graph.At(1)), tfbridge.Int32)
	sizes := graph.Fill(s, graph.Subscript(s, shape, graph.Between(0, 1)), steps)
	loss := s.Op("CTCLoss", nil, logits, indices, values, sizes)
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	return graph.Cast(s, loss[0], a.dtype)
}
