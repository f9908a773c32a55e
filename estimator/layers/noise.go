package layers

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// SpatialDropout is keras.layers.SpatialDropout1D, 2D or 3D, by the rank of x: in mode
// Train it drops whole channels of an example.
func SpatialDropout(n *Net, x tfbridge.Output, rate float64) tfbridge.Output {
	random := n.noise("spatial_dropout", rate, true)
	if random == nil {
		return x
	}
	s := n.Scope
	shape := graph.Shape(s, x)
	ones := make([]int64, max(0, graph.SpecOf(x).Shape.NumDimensions()-2))
	for i := range ones {
		ones[i] = 1
	}
	parts := []tfbridge.Output{graph.Subscript(s, shape, graph.Between(0, 1)), s.Const(ones), graph.Subscript(s, shape, graph.From(-1))}
	keep := graph.GreaterEqual(s, random("StatelessRandomUniform", graph.ConcatV2(s, parts, 0)), s.Const(float32(rate)))
	kept := graph.Mul(s, graph.Cast(s, keep, tfbridge.Float), s.Const(float32(1/(1-rate))))
	return graph.Mul(s, x, kept)
}

// GaussianNoise is keras.layers.GaussianNoise: in mode Train it adds normal numbers of
// a standard deviation.
func GaussianNoise(n *Net, x tfbridge.Output, stddev float64) tfbridge.Output {
	random := n.noise("gaussian_noise", stddev, false)
	if random == nil {
		return x
	}
	s := n.Scope
	return graph.Add(s, x, graph.Mul(s, random("StatelessRandomNormal", graph.Shape(s, x)), s.Const(float32(stddev))))
}

// GaussianDropout is keras.layers.GaussianDropout: in mode Train it multiplies by normal
// numbers of mean 1 and of the variance that a dropout of that rate has.
func GaussianDropout(n *Net, x tfbridge.Output, rate float64) tfbridge.Output {
	random := n.noise("gaussian_dropout", rate, true)
	if random == nil {
		return x
	}
	s := n.Scope
	normal := graph.Mul(s, random("StatelessRandomNormal", graph.Shape(s, x)), s.Const(float32(math.Sqrt(rate/(1-rate)))))
	return graph.Mul(s, x, graph.Add(s, normal, s.Const(float32(1))))
}

// AlphaDropout is keras.layers.AlphaDropout: a dropout for Selu, which keeps mean and
// variance of its results.
func AlphaDropout(n *Net, x tfbridge.Output, rate float64) tfbridge.Output {
	random := n.noise("alpha_dropout", rate, true)
	if random == nil {
		return x
	}
	const alpha = 1.6732632423543772 * 1.0507009873554805
	a := 1 / math.Sqrt((1-rate)*(1+rate*alpha*alpha))
	s := n.Scope
	keep := graph.GreaterEqual(s, random("StatelessRandomUniform", graph.Shape(s, x)), s.Const(float32(rate)))
	dropped := graph.Add(s, graph.ZerosLike(s, x), s.Const(float32(-alpha)))
	y := graph.Mul(s, graph.Select(s, keep, x, dropped), s.Const(float32(a)))
	return graph.Add(s, y, s.Const(float32(a*alpha*rate)))
}

// noise returns a function that draws numbers in mode Train, nil in other modes. The
// numbers depend on the model's seed and the step.
func (n *Net) noise(kind string, amount float64, rate bool) func(op string, shape tfbridge.Output) tfbridge.Output {
	layer := n.names[kind]
	n.names[kind]++
	if n.Mode != Train || amount == 0 || n.Err() != nil {
		return nil
	}
	if !(amount > 0) || rate && amount >= 1 {
		n.fail("%s: %v; it must be at least 0, and a rate less than 1", kind, amount)
		return nil
	}
	salt := int64(0)
	for _, c := range kind {
		salt = salt*31 + int64(c)
	}
	s := n.Scope
	seed := graph.Pack(s, []tfbridge.Output{s.Const(n.store.seed*1000003 + salt*1009 + int64(layer)), n.step}, 0)
	return func(op string, shape tfbridge.Output) tfbridge.Output { return n.f(op, nil, shape, seed) }
}
