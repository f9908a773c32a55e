package layers

import (
	"slices"

	"millrace/tfbridge"
)

// DepthwiseOptions are the options of a convolution of each channel by itself. Nil and
// the zero value mean Keras's defaults. They take no dilation.
type DepthwiseOptions struct {
	Name                 string      // "": depthwise_conv2d, separable_conv2d, depthwise_conv2d_1, ...
	Multiplier           int64       // filters for each channel, Keras's depth_multiplier; 0: 1
	Stride               int64       // stride in both dimensions; 0: 1
	Same                 bool        // padding "same"; false: "valid"
	Activation           Activation  // nil: none
	NoBias               bool        // leaves the bias away
	KernelInitializer    Initializer // initializer of the filters of the channels; nil: GlorotUniform
	PointwiseInitializer Initializer // for SeparableConv2D; nil: GlorotUniform
	BiasInitializer      Initializer // nil: Zeros
}

// DepthwiseConv2D is keras.layers.DepthwiseConv2D on images of shape [batch, height,
// width, channels]: each channel is convolved by itself. size is the height and the
// width of the filters.
func DepthwiseConv2D(n *Net, x tfbridge.Output, size []int64, o *DepthwiseOptions) tfbridge.Output {
	o = o.withDefaults()
	name := n.Layer(o.Name, "depthwise_conv2d")
	y := n.depthwise(name, "kernel", x, size, o)
	return n.finish(name, y, last(x)*o.Multiplier, o.convolution())
}

// SeparableConv2D is keras.layers.SeparableConv2D on images of shape [batch, height,
// width, channels]: a DepthwiseConv2D, then a convolution of single pixels that mixes
// the channels.
func SeparableConv2D(n *Net, x tfbridge.Output, filters int64, size []int64, o *DepthwiseOptions) tfbridge.Output {
	o = o.withDefaults()
	name := n.Layer(o.Name, "separable_conv2d")
	y := n.depthwise(name, "depthwise_kernel", x, size, o)
	shape := []int64{1, 1, last(x) * o.Multiplier, filters}
	kernel := n.Variable(name+"/pointwise_kernel", shape, &VariableOptions{Initializer: o.PointwiseInitializer})
	y = n.convolve(y, kernel, &ConvOptions{Strides: []int64{1, 1}, Dilation: []int64{1, 1}})
	return n.finish(name, y, filters, o.convolution())
}

// withDefaults returns the options with the defaults filled in.
func (o *DepthwiseOptions) withDefaults() *DepthwiseOptions {
	c := DepthwiseOptions{}
	if o != nil {
		c = *o
	}
	if c.Multiplier == 0 {
		c.Multiplier = 1
	}
	if c.Stride == 0 {
		c.Stride = 1
	}
	return &c
}

// convolution returns the options of bias and activation.
func (o *DepthwiseOptions) convolution() *ConvOptions {
	return &ConvOptions{Activation: o.Activation, NoBias: o.NoBias, BiasInitializer: o.BiasInitializer}
}

// depthwise adds a convolution of each channel by itself.
func (n *Net) depthwise(name, kernelName string, x tfbridge.Output, size []int64, o *DepthwiseOptions) tfbridge.Output {
	if len(size) != 2 || o.Multiplier < 0 || o.Stride < 0 {
		n.fail("%s: the size of the filters is %v, their number for a channel %d and the stride %d; there must be a height and a width, and positive numbers",
			name, size, o.Multiplier, o.Stride)
		return tfbridge.Output{}
	}
	shape := append(slices.Clone(size), last(x), o.Multiplier)
	kernel := n.Variable(name+"/"+kernelName, shape, &VariableOptions{Initializer: o.KernelInitializer})
	strides := window([]int64{o.Stride, o.Stride})
	return n.f("DepthwiseConv2dNative", map[string]any{"strides": strides, "padding": padding(o.Same)}, x, kernel)
}
