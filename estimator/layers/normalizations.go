package layers

import (
	"cmp"
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// GroupNormalization is keras.layers.GroupNormalization over the last dimension: groups of
// channels are normalized together, each example by itself. No groups are Keras's 32, and
// -1 makes each channel a group, as an instance normalization.
func GroupNormalization(n *Net, x tfbridge.Output, groups int64, options *NormalizationOptions) tfbridge.Output {
	o := options.withDefaults()
	name := n.Layer(o.Name, "group_normalization")
	channels := last(x)
	if groups = cmp.Or(groups, 32); groups == -1 {
		groups = channels
	}
	if groups < 1 || channels < 1 || channels%groups != 0 {
		n.fail("%s: %d channels cannot be divided into %d groups", name, channels, groups)
		return tfbridge.Output{}
	}
	gamma := n.Variable(name+"/gamma", []int64{channels}, &VariableOptions{Initializer: Ones})
	beta := n.Variable(name+"/beta", []int64{channels}, &VariableOptions{Initializer: Zeros})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	s := n.Scope
	shape := graph.Shape(s, x)
	batch := graph.Subscript(s, shape, graph.Between(0, 1))
	split := graph.ConcatV2(s, []tfbridge.Output{batch, s.Const([]int64{-1, groups, channels / groups})}, 0)
	grouped := graph.Reshape(s, x, split)
	mean, variance := n.moments(grouped, []int32{1, 3}, true)
	scale := n.f("Rsqrt", nil, graph.Add(s, variance, s.Const(float32(o.Epsilon))))
	y := graph.Reshape(s, graph.Mul(s, graph.Sub(s, grouped, mean), scale), shape)
	return n.shaped(graph.Add(s, graph.Mul(s, y, gamma), beta), x, channels)
}

// RMSNormalization is keras.layers.RMSNormalization over the last dimension: it divides by
// the root of the mean square. The default of Epsilon is 1e-6.
func RMSNormalization(n *Net, x tfbridge.Output, options *NormalizationOptions) tfbridge.Output {
	o := NormalizationOptions{}
	if options != nil {
		o = *options
	}
	scale := n.Variable(n.Layer(o.Name, "rms_normalization")+"/scale", []int64{last(x)}, &VariableOptions{Initializer: Ones})
	s := n.Scope
	mean := n.f("Mean", map[string]any{"keep_dims": true}, n.f("Square", nil, x), s.Const([]int32{-1}))
	root := n.f("Rsqrt", nil, graph.Add(s, mean, s.Const(float32(cmp.Or(o.Epsilon, 1e-6)))))
	return graph.Mul(s, graph.Mul(s, x, root), scale)
}

// UnitNormalization is keras.layers.UnitNormalization: it scales the vectors along the last
// dimension to length 1.
func UnitNormalization(n *Net, x tfbridge.Output) tfbridge.Output { return n.unit(x, -1) }

// Normalization is keras.layers.Normalization with a mean and a variance for each element
// of the last dimension, or one of both for all: (x - mean) / sqrt(variance).
func Normalization(n *Net, x tfbridge.Output, mean, variance []float32) tfbridge.Output {
	if len(mean) == 0 || len(mean) != len(variance) {
		n.fail("normalization: %d means and %d variances; there must be one of each, or one for each element", len(mean), len(variance))
		return tfbridge.Output{}
	}
	roots := make([]float32, len(variance))
	for i, v := range variance {
		roots[i] = float32(math.Max(math.Sqrt(float64(v)), 1e-7)) // Keras's epsilon keeps constants finite
	}
	return n.f("RealDiv", nil, graph.Sub(n.Scope, x, n.Const(mean)), n.Const(roots))
}
