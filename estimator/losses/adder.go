package losses

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// epsilon is keras.config.epsilon(): probabilities are kept that far from 0 and 1.
const epsilon = 1e-7

// adder adds the operations of one loss.
type adder struct {
	s     *graph.Scope
	loss  *Loss
	dtype tfbridge.DataType
}

// mean returns the mean along the last dimension.
func (a *adder) mean(x tfbridge.Output) tfbridge.Output {
	return a.s.Op1("Mean", nil, x, a.s.Const(int32(-1)))
}

// scalar returns a constant of the predictions' type.
func (a *adder) scalar(value float64) tfbridge.Output {
	if a.dtype == tfbridge.Double {
		return a.s.Const(value)
	}
	return graph.Cast(a.s, a.s.Const(float32(value)), a.dtype)
}

// clip keeps probabilities away from 0 and 1, whose logarithms are not finite.
func (a *adder) clip(p tfbridge.Output) tfbridge.Output {
	return graph.Maximum(a.s, graph.Minimum(a.s, p, a.scalar(1-epsilon)), a.scalar(epsilon))
}

// sum returns the sum along the last dimension.
func (a *adder) sum(x tfbridge.Output) tfbridge.Output {
	return graph.Sum(a.s, x, a.s.Const(int32(-1)))
}

// log returns the logarithm.
func (a *adder) log(x tfbridge.Output) tfbridge.Output { return a.s.Op1("Log", nil, x) }
