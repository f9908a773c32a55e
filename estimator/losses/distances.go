package losses

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// huber is a parabola up to delta, and a line from there.
func (a *adder) huber(difference tfbridge.Output) tfbridge.Output {
	s, delta := a.s, a.loss.Delta
	if delta == 0 {
		delta = 1
	}
	size := s.Op1("Abs", nil, difference)
	parabola := graph.Mul(s, a.scalar(0.5), s.Op1("Square", nil, difference))
	line := graph.Sub(s, graph.Mul(s, a.scalar(delta), size), a.scalar(0.5*delta*delta))
	return graph.Select(s, graph.LessEqual(s, size, a.scalar(delta)), parabola, line)
}

// percentage is the mean of |y - p| / |y|, in percent.
func (a *adder) percentage(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	size := graph.Maximum(s, s.Op1("Abs", nil, labels), a.scalar(epsilon))
	return graph.Mul(s, a.scalar(100), a.mean(s.Op1("Abs", nil, s.Op1("RealDiv", nil, graph.Sub(s, labels, predictions), size))))
}

// logarithmic is the mean of (log(1 + p) - log(1 + y))².
func (a *adder) logarithmic(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	log := func(x tfbridge.Output) tfbridge.Output {
		return a.log(graph.Add(s, graph.Maximum(s, x, a.scalar(epsilon)), a.scalar(1)))
	}
	return a.mean(s.Op1("Square", nil, graph.Sub(s, log(predictions), log(labels))))
}

// logCosh is log(cosh(x)), computed so that it does not overflow.
func (a *adder) logCosh(x tfbridge.Output) tfbridge.Output {
	s := a.s
	soft := s.Op1("Softplus", nil, graph.Mul(s, x, a.scalar(-2)))
	return graph.Sub(s, graph.Add(s, x, soft), a.scalar(math.Ln2))
}

// cosine is the negative cosine of the angle between labels and predictions.
func (a *adder) cosine(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	unit := func(x tfbridge.Output) tfbridge.Output {
		squares := s.Op1("Sum", map[string]any{"keep_dims": true}, s.Op1("Square", nil, x), s.Const(int32(-1)))
		return graph.Mul(s, x, s.Op1("Rsqrt", nil, graph.Maximum(s, squares, a.scalar(1e-12))))
	}
	return s.Op1("Neg", nil, a.sum(graph.Mul(s, unit(labels), unit(predictions))))
}

// divergence is the Kullback-Leibler divergence of two distributions.
func (a *adder) divergence(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	clip := func(x tfbridge.Output) tfbridge.Output {
		return graph.Maximum(s, graph.Minimum(s, x, a.scalar(1)), a.scalar(epsilon))
	}
	labels, predictions = clip(labels), clip(predictions)
	return a.sum(graph.Mul(s, labels, a.log(s.Op1("RealDiv", nil, labels, predictions))))
}

// poisson is the mean of p - y log(p).
func (a *adder) poisson(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	return a.mean(graph.Sub(s, predictions, graph.Mul(s, labels, a.log(graph.Add(s, predictions, a.scalar(epsilon))))))
}

// hinge is max(1 - y p, 0) of labels -1 and 1. Labels that are all 0 or 1 become those.
func (a *adder) hinge(labels, predictions tfbridge.Output) tfbridge.Output {
	s := a.s
	zero, one := a.scalar(0), a.scalar(1)
	binary := graph.ReduceAll(s, graph.LogicalOr(s, graph.Equal(s, labels, zero), graph.Equal(s, labels, one)))
	signs := graph.Sub(s, graph.Mul(s, a.scalar(2), labels), one)
	labels = graph.Select(s, binary, signs, labels)
	return graph.Maximum(s, graph.Sub(s, one, graph.Mul(s, labels, predictions)), zero)
}

// categoricalHinge is the margin between the prediction of the right class and the
// largest other one.
func (a *adder) categoricalHinge(labels, predictions tfbridge.Output) tfbridge.Output {
	s, one := a.s, a.scalar(1)
	right := a.sum(graph.Mul(s, labels, predictions))
	wrong := graph.Max(s, graph.Mul(s, graph.Sub(s, one, labels), predictions), s.Const(int32(-1)))
	return graph.Maximum(s, graph.Add(s, graph.Sub(s, wrong, right), one), a.scalar(0))
}
