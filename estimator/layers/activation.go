package layers

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// Activation is a function of each element, or of the last dimension.
type Activation func(n *Net, x tfbridge.Output) tfbridge.Output

// Linear returns x.
func Linear(_ *Net, x tfbridge.Output) tfbridge.Output { return x }

// Relu is the larger of x and 0.
func Relu(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Relu", nil, x) }

// Relu6 is Relu cut off at 6.
func Relu6(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Relu6", nil, x) }

// LeakyRelu is x where that is positive, else 0.2 * x.
func LeakyRelu(n *Net, x tfbridge.Output) tfbridge.Output {
	return n.f("LeakyRelu", map[string]any{"alpha": float32(0.2)}, x)
}

// ReluWith is keras.layers.ReLU: slope * (x - threshold) below threshold, and x from there on,
// at most most; most 0 means no limit.
func ReluWith(slope, threshold, most float64) Activation {
	return func(n *Net, x tfbridge.Output) tfbridge.Output {
		s := n.Scope
		at := n.Const(float32(threshold))
		above := graph.GreaterEqual(s, x, at)
		if slope == 0 {
			above = graph.Greater(s, x, at)
		}
		below := graph.Mul(s, graph.Sub(s, x, at), n.Const(float32(slope)))
		y := n.f("SelectV2", nil, above, x, below)
		if most > 0 {
			y = graph.Minimum(s, y, n.Const(float32(most)))
		}
		return y
	}
}

// LeakyReluWith is keras.layers.LeakyReLU: x where that is positive, else slope * x.
func LeakyReluWith(slope float64) Activation {
	return func(n *Net, x tfbridge.Output) tfbridge.Output {
		return n.f("LeakyRelu", map[string]any{"alpha": float32(slope)}, x)
	}
}

// EluWith is keras.layers.ELU: x where that is positive, else alpha * (exp(x) - 1).
func EluWith(alpha float64) Activation {
	return func(n *Net, x tfbridge.Output) tfbridge.Output {
		s := n.Scope
		return n.f("SelectV2", nil, graph.Greater(s, x, n.Const(float32(0))), x, graph.Mul(s, n.Const(float32(alpha)), Elu(n, x)))
	}
}

// Selu is the scaled exponential linear unit.
func Selu(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Selu", nil, x) }

// Softplus is log(1 + exp(x)).
func Softplus(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Softplus", nil, x) }

// activated applies an activation; nil applies none.
func Softsign(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Softsign", nil, x) }

// Exponential is exp(x).
func Exponential(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Exp", nil, x) }

// Elu is x where that is positive, else exp(x) - 1.
func Elu(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Elu", nil, x) }

// Tanh is the hyperbolic tangent.
func Tanh(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Tanh", nil, x) }

// Sigmoid is 1 / (1 + exp(-x)).
func Sigmoid(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Sigmoid", nil, x) }

// Softmax makes probabilities of the last dimension.
func Softmax(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("Softmax", nil, x) }

// LogSoftmax makes logarithms of probabilities of the last dimension.
func LogSoftmax(n *Net, x tfbridge.Output) tfbridge.Output { return n.f("LogSoftmax", nil, x) }

// Swish is x * sigmoid(x), also called SiLU.
func Swish(n *Net, x tfbridge.Output) tfbridge.Output {
	return graph.Mul(n.Scope, x, Sigmoid(n, x))
}

// Gelu is x times the probability that a standard normal number is less than x.
func Gelu(n *Net, x tfbridge.Output) tfbridge.Output {
	s := n.Scope
	half := graph.Mul(s, s.Const(float32(0.5)), x)
	erf := n.f("Erf", nil, graph.Mul(s, x, s.Const(float32(math.Sqrt2/2))))
	return graph.Mul(s, half, graph.Add(s, s.Const(float32(1)), erf))
}

// activated applies an activation, nil being none.
func (n *Net) activated(a Activation, x tfbridge.Output) tfbridge.Output {
	if a == nil || n.Err() != nil {
		return x
	}
	return a(n, x)
}
