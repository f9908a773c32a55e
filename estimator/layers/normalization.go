package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// NormalizationOptions are the options of a normalization. Nil and the zero value
// mean Keras's defaults.
type NormalizationOptions struct {
	Name     string  // "": batch_normalization, layer_normalization, ... with a number
	Momentum float64 // momentum of the moving averages of BatchNormalization; 0: 0.99
	Epsilon  float64 // added to the variance; 0: 0.001
}

// withDefaults returns the options with the defaults filled in.
func (o *NormalizationOptions) withDefaults() NormalizationOptions {
	d := NormalizationOptions{Momentum: 0.99, Epsilon: 0.001}
	if o != nil {
		d.Name = o.Name
		if o.Momentum != 0 {
			d.Momentum = o.Momentum
		}
		if o.Epsilon != 0 {
			d.Epsilon = o.Epsilon
		}
	}
	return d
}

// BatchNormalization is keras.layers.BatchNormalization over the last dimension. In
// mode Train it takes mean and variance of the batch, and each step updates their
// moving averages; in other modes it takes these averages.
func BatchNormalization(n *Net, x tfbridge.Output, options *NormalizationOptions) tfbridge.Output {
	o := options.withDefaults()
	name := n.Layer(o.Name, "batch_normalization")
	shape := []int64{last(x)}
	gamma := n.Variable(name+"/gamma", shape, &VariableOptions{Initializer: Ones})
	beta := n.Variable(name+"/beta", shape, &VariableOptions{Initializer: Zeros})
	movingMean := n.variable(name+"/moving_mean", shape, &VariableOptions{Initializer: Zeros, NotTrainable: true})
	movingVariance := n.variable(name+"/moving_variance", shape, &VariableOptions{Initializer: Ones, NotTrainable: true})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	var mean, variance tfbridge.Output
	if n.Mode == Train {
		var axes []int32
		for i := range x.Shape().NumDimensions() - 1 {
			axes = append(axes, int32(i))
		}
		mean, variance = n.moments(x, axes, false)
		n.average(movingMean, mean, o.Momentum)
		n.average(movingVariance, variance, o.Momentum)
	} else {
		mean, variance = n.value(movingMean), n.value(movingVariance)
	}
	return n.normalize(x, mean, variance, &affine{gamma, beta, o.Epsilon})
}

// value reads a variable.
func (n *Net) value(v *Variable) tfbridge.Output {
	return n.f("ReadVariableOp", map[string]any{"dtype": v.DType}, v.handle)
}

// average moves a moving average towards a value after each step.
func (n *Net) average(v *Variable, value tfbridge.Output, momentum float64) {
	s := n.Scope
	old := graph.Mul(s, n.value(v), s.Const(float32(momentum)))
	n.changes = append(n.changes, change{v, graph.Add(s, old, graph.Mul(s, value, s.Const(float32(1-momentum))))})
}

// moments returns mean and variance along axes.
func (n *Net) moments(x tfbridge.Output, axes []int32, keep bool) (mean, variance tfbridge.Output) {
	along := n.Const(axes)
	kept := n.f("Mean", map[string]any{"keep_dims": true}, x, along)
	squares := n.f("SquaredDifference", nil, x, n.f("StopGradient", nil, kept))
	variance = n.f("Mean", map[string]any{"keep_dims": keep}, squares, along)
	if keep {
		return kept, variance
	}
	return n.f("Mean", nil, x, along), variance
}

// affine is the scale and offset of a normalized value.
type affine struct {
	gamma, beta tfbridge.Output
	epsilon     float64
}

// normalize returns (x - mean) / sqrt(variance + epsilon) * gamma + beta.
func (n *Net) normalize(x, mean, variance tfbridge.Output, a *affine) tfbridge.Output {
	s := n.Scope
	scale := graph.Mul(s, n.f("Rsqrt", nil, graph.Add(s, variance, s.Const(float32(a.epsilon)))), a.gamma)
	return graph.Add(s, graph.Mul(s, x, scale), graph.Sub(s, a.beta, graph.Mul(s, mean, scale)))
}

// LayerNormalization is keras.layers.LayerNormalization over the last dimension.
func LayerNormalization(n *Net, x tfbridge.Output, options *NormalizationOptions) tfbridge.Output {
	o := options.withDefaults()
	name := n.Layer(o.Name, "layer_normalization")
	shape := []int64{last(x)}
	gamma := n.Variable(name+"/gamma", shape, &VariableOptions{Initializer: Ones})
	beta := n.Variable(name+"/beta", shape, &VariableOptions{Initializer: Zeros})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	mean, variance := n.moments(x, []int32{-1}, true)
	return n.normalize(x, mean, variance, &affine{gamma, beta, o.Epsilon})
}
