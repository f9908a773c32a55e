package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// DepthwiseConv1D is keras.layers.DepthwiseConv1D on sequences of shape [batch, steps,
// channels]: each channel is convolved by itself, by filters of size steps.
func DepthwiseConv1D(n *Net, x tfbridge.Output, size int64, o *DepthwiseOptions) tfbridge.Output {
	o = o.withDefaults()
	name := n.Layer(o.Name, "depthwise_conv1d")
	y := n.depthwise1D(name, "kernel", x, size, o)
	return n.finish(name, n.f("Squeeze", map[string]any{"squeeze_dims": []int64{1}}, y), last(x)*o.Multiplier, o.convolution())
}

// SeparableConv1D is keras.layers.SeparableConv1D on sequences of shape [batch, steps,
// channels]: a DepthwiseConv1D, then a convolution of single steps that mixes the
// channels.
func SeparableConv1D(n *Net, x tfbridge.Output, filters, size int64, o *DepthwiseOptions) tfbridge.Output {
	o = o.withDefaults()
	name := n.Layer(o.Name, "separable_conv1d")
	y := n.depthwise1D(name, "depthwise_kernel", x, size, o)
	kernel := n.Variable(name+"/pointwise_kernel", []int64{1, last(x) * o.Multiplier, filters}, &VariableOptions{Initializer: o.PointwiseInitializer})
	y = n.convolve(y, graph.ExpandDims(n.Scope, kernel, 0), &ConvOptions{Strides: []int64{1, 1}, Dilation: []int64{1, 1}})
	return n.finish(name, n.f("Squeeze", map[string]any{"squeeze_dims": []int64{1}}, y), filters, o.convolution())
}

// depthwise1D convolves each channel of sequences, as images of height 1, which it
// returns.
func (n *Net) depthwise1D(name, kernelName string, x tfbridge.Output, size int64, o *DepthwiseOptions) tfbridge.Output {
	kernel := n.Variable(name+"/"+kernelName, []int64{size, last(x), o.Multiplier}, &VariableOptions{Initializer: o.KernelInitializer})
	strides := window([]int64{o.Stride, o.Stride}) // TensorFlow wants both alike; the height is 1
	return n.f("DepthwiseConv2dNative", map[string]any{"strides": strides, "padding": padding(o.Same)},
		graph.ExpandDims(n.Scope, x, 1), graph.ExpandDims(n.Scope, kernel, 0))
}

// PRelu is keras.layers.PReLU: x where that is positive, else x times a variable, which has
// an element for each but those along the shared axes, counted with the batch. name "" is
// p_re_lu, ...
func PRelu(n *Net, x tfbridge.Output, name string, shared ...int) tfbridge.Output {
	dims := graph.SpecOf(x).Shape.Dims()
	if n.Err() != nil || len(dims) < 2 {
		n.fail("p_re_lu: the shape of the input is not known")
		return tfbridge.Output{}
	}
	shape := dims[1:]
	for _, axis := range shared {
		if axis < 1 || axis >= len(dims) {
			n.fail("p_re_lu: there is no axis %d to share", axis)
			return tfbridge.Output{}
		}
		shape[axis-1] = 1
	}
	alpha := n.Variable(n.Layer(name, "p_re_lu")+"/alpha", shape, &VariableOptions{Initializer: Zeros})
	s := n.Scope
	negative := graph.Mul(s, n.f("Neg", nil, alpha), n.f("Relu", nil, n.f("Neg", nil, x)))
	return graph.Add(s, n.f("Relu", nil, x), negative)
}

// TimeDistributed is keras.layers.TimeDistributed: it applies layers to each step of
// sequences of shape [batch, steps, ...] by itself.
func TimeDistributed(n *Net, x tfbridge.Output, layers func(n *Net, x tfbridge.Output) tfbridge.Output) tfbridge.Output {
	dims := graph.SpecOf(x).Shape.Dims()
	if n.Err() != nil || len(dims) < 3 {
		n.fail("time_distributed: the input must have a batch, steps and features")
		return tfbridge.Output{}
	}
	s := n.Scope
	join := func(outer tfbridge.Output, y tfbridge.Output, from int64, static []int64) tfbridge.Output {
		shape := graph.ConcatV2(s, []tfbridge.Output{outer, graph.Subscript(s, graph.Shape(s, y), graph.From(from))}, 0)
		z := graph.Reshape(s, y, shape)
		if n.Err() == nil {
			n.UpdateErr("layer", n.Graph().SetShape(z, tfbridge.MakeShape(static...)))
		}
		return z
	}
	flat := join(s.Const([]int64{-1}), x, 2, append([]int64{-1}, dims[2:]...))
	y := layers(n, flat)
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	outer := graph.Subscript(s, graph.Shape(s, x), graph.Until(2))
	return join(outer, y, 1, append([]int64{dims[0], dims[1]}, graph.SpecOf(y).Shape.Dims()[1:]...))
}

// HardSigmoid is x / 6 + 0.5 between 0 and 1.
func HardSigmoid(n *Net, x tfbridge.Output) tfbridge.Output {
	six := n.f("Relu6", nil, graph.Add(n.Scope, x, n.Const(float32(3))))
	return graph.Mul(n.Scope, six, n.Const(float32(1.0/6)))
}

// HardSwish is x * HardSigmoid(x), also called HardSiLU.
func HardSwish(n *Net, x tfbridge.Output) tfbridge.Output {
	return graph.Mul(n.Scope, x, HardSigmoid(n, x))
}

// Mish is x * tanh(softplus(x)).
func Mish(n *Net, x tfbridge.Output) tfbridge.Output {
	return graph.Mul(n.Scope, x, Tanh(n, Softplus(n, x)))
}
