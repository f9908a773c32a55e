package layers

import (
	"slices"

	"millrace/graph"
	"millrace/tfbridge"
)

// ConvOptions are the options of a convolution. Nil and the zero value mean Keras's
// defaults.
type ConvOptions struct {
	Name              string      // "": conv2d, conv2d_1, ...
	Strides           []int64     // a number for each dimension of the filters; nil: 1
	Dilation          []int64     // likewise; nil: 1
	Same              bool        // padding "same"; false: "valid"
	Causal            bool        // for Conv1D: padding "causal", so that no step sees a later one
	Activation        Activation  // nil: none
	NoBias            bool        // leaves the bias away
	KernelInitializer Initializer // nil: GlorotUniform
	BiasInitializer   Initializer // nil: Zeros
}

// Conv1D is keras.layers.Conv1D on sequences of shape [batch, steps, channels]. size is
// the number of steps of the filters.
func Conv1D(n *Net, x tfbridge.Output, filters, size int64, o *ConvOptions) tfbridge.Output {
	if o == nil {
		o = &ConvOptions{}
	}
	name := n.Layer(o.Name, "conv1d")
	c := *o
	c.Strides, c.Dilation = n.sizes(name, o.Strides, 1), n.sizes(name, o.Dilation, 1)
	kernel := n.Variable(name+"/kernel", []int64{size, last(x), filters}, &VariableOptions{Initializer: o.KernelInitializer})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	if o.Causal {
		before := c.Dilation[0] * (size - 1)
		x = n.f("Pad", nil, x, n.Const([][]int32{{0, 0}, {int32(before), 0}, {0, 0}}))
	}
	// TensorFlow convolves images: a sequence is one of height 1.
	c.Strides, c.Dilation = append([]int64{1}, c.Strides...), append([]int64{1}, c.Dilation...)
	y := n.convolve(graph.ExpandDims(n.Scope, x, 1), graph.ExpandDims(n.Scope, kernel, 0), &c)
	return n.finish(name, n.f("Squeeze", map[string]any{"squeeze_dims": []int64{1}}, y), filters, o)
}

// Conv2D is keras.layers.Conv2D on images of shape [batch, height, width, channels].
// size is the height and the width of the filters.
func Conv2D(n *Net, x tfbridge.Output, filters int64, size []int64, o *ConvOptions) tfbridge.Output {
	name, c := n.convolution("conv2d", size, o)
	kernel := n.Variable(name+"/kernel", append(slices.Clone(c.size), last(x), filters), &VariableOptions{Initializer: c.KernelInitializer})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	return n.finish(name, n.convolve(x, kernel, &c.ConvOptions), filters, &c.ConvOptions)
}

// Conv2DTranspose is keras.layers.Conv2DTranspose on images of shape [batch, height, width,
// channels]: strides enlarge the result by their factors. size is the height and the width
// of the filters. It takes no dilation.
func Conv2DTranspose(n *Net, x tfbridge.Output, filters int64, size []int64, o *ConvOptions) tfbridge.Output {
	name, c := n.convolution("conv2d_transpose", size, o)
	if slices.Max(c.Dilation) > 1 {
		n.fail("%s: the dilation is %v; a transposed convolution has none", name, c.Dilation)
	}
	kernel := n.Variable(name+"/kernel", append(slices.Clone(c.size), filters, last(x)), &VariableOptions{Initializer: c.KernelInitializer})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	s := n.Scope
	shape := graph.Shape(s, x)
	dims := []tfbridge.Output{graph.Subscript(s, shape, graph.At(0))}
	for i, stride := range c.Strides {
		length := graph.Mul(s, graph.Subscript(s, shape, graph.At(int64(i+1))), s.Const(stride))
		if extra := c.size[i] - stride; !c.Same && extra > 0 {
			length = graph.Add(s, length, s.Const(extra))
		}
		dims = append(dims, length)
	}
	sizes := graph.Cast(s, graph.Pack(s, append(dims, s.Const(filters)), 0), tfbridge.Int32)
	y := n.f("Conv2DBackpropInput", map[string]any{"strides": window(c.Strides), "padding": padding(c.Same)}, sizes, kernel, x)
	return n.finish(name, n.enlarged(y, x, filters, c), filters, &c.ConvOptions)
}

// enlarged sets the static shape of a transposed convolution.
func (n *Net) enlarged(y, x tfbridge.Output, filters int64, c *convolution) tfbridge.Output {
	if n.Err() != nil {
		return y
	}
	shape := []int64{dim(x, 0), -1, -1, filters}
	for i, stride := range c.Strides {
		if from := dim(x, i+1); from >= 0 {
			shape[i+1] = from * stride
			if !c.Same {
				shape[i+1] += max(0, c.size[i]-stride)
			}
		}
	}
	n.UpdateErr("layer", n.Graph().SetShape(y, tfbridge.MakeShape(shape...)))
	return y
}

// convolution is the options of a convolution of images with the defaults filled in.
type convolution struct {
	ConvOptions
	size []int64 // height and width of the filters
}

// convolution names a convolution of images and fills in the defaults.
func (n *Net) convolution(kind string, size []int64, o *ConvOptions) (string, *convolution) {
	if o == nil {
		o = &ConvOptions{}
	}
	name := n.Layer(o.Name, kind)
	c := &convolution{ConvOptions: *o, size: size}
	if len(size) != 2 {
		n.fail("%s: the size of the filters is %v and must have a height and a width", name, size)
		c.size = []int64{1, 1}
	}
	if o.Causal {
		n.fail("%s: padding \"causal\" is for sequences, not for images", name)
	}
	c.Strides, c.Dilation = n.sizes(name, o.Strides, 2), n.sizes(name, o.Dilation, 2)
	return name, c
}

// sizes returns strides, a dilation or a window for n dimensions, ones if it is nil.
func (n *Net) sizes(name string, sizes []int64, dimensions int) []int64 {
	if sizes == nil {
		return slices.Repeat([]int64{1}, dimensions)
	}
	if len(sizes) != dimensions || slices.Min(sizes) < 1 {
		n.fail("%s: strides, dilation or window are %v; there must be %d positive numbers", name, sizes, dimensions)
		return slices.Repeat([]int64{1}, dimensions)
	}
	return sizes
}

// convolve adds a convolution of images.
func (n *Net) convolve(x, kernel tfbridge.Output, o *ConvOptions) tfbridge.Output {
	return n.f("Conv2D", map[string]any{"strides": window(o.Strides), "dilations": window(o.Dilation), "padding": padding(o.Same)}, x, kernel)
}

// finish adds the bias and the activation of a convolution.
func (n *Net) finish(name string, y tfbridge.Output, filters int64, o *ConvOptions) tfbridge.Output {
	if !o.NoBias {
		y = n.f("BiasAdd", nil, y, n.bias(name, filters, o.BiasInitializer))
	}
	return n.activated(o.Activation, y)
}

// window returns height and width among the dimensions of a batch of images.
func window(size []int64) []int64 { return []int64{1, size[0], size[1], 1} }

// padding returns TensorFlow's name of a padding.
func padding(same bool) string {
	if same {
		return "SAME"
	}
	return "VALID"
}
