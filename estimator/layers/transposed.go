package layers

import (
	"slices"

	"millrace/graph"
	"millrace/tfbridge"
)

// Conv1DTranspose is keras.layers.Conv1DTranspose on sequences of shape [batch, steps,
// channels]: the stride enlarges the number of steps by its factor. size is the steps of the
// filters. It takes no dilation.
func Conv1DTranspose(n *Net, x tfbridge.Output, filters, size int64, o *ConvOptions) tfbridge.Output {
	t := n.transposed("conv1d_transpose", x, filters, []int64{size}, o)
	if t == nil {
		return tfbridge.Output{}
	}
	// An image of height 1, as TensorFlow's own conv1d_transpose makes of it.
	lengths := t.lengths()
	sizes := graph.Pack(n.Scope, append([]tfbridge.Output{lengths[0], n.Const(int64(1))}, lengths[1:]...), 0)
	y := n.f("Conv2DBackpropInput", map[string]any{"strides": window([]int64{1, t.strides[0]}), "padding": padding(t.o.Same)},
		graph.Cast(n.Scope, sizes, tfbridge.Int32), graph.ExpandDims(n.Scope, t.kernel, 0), graph.ExpandDims(n.Scope, x, 1))
	return t.finish(n.f("Squeeze", map[string]any{"squeeze_dims": []int64{1}}, y))
}

// Conv3DTranspose is keras.layers.Conv3DTranspose on volumes of shape [batch, depth, height,
// width, channels]: strides enlarge the result by their factors. size is depth, height and
// width of the filters. It takes no dilation.
func Conv3DTranspose(n *Net, x tfbridge.Output, filters int64, size []int64, o *ConvOptions) tfbridge.Output {
	t := n.transposed("conv3d_transpose", x, filters, size, o)
	if t == nil {
		return tfbridge.Output{}
	}
	if len(size) != 3 {
		n.fail("%s: the size of the filters is %v; it must have a depth, a height and a width", t.name, size)
		return tfbridge.Output{}
	}
	sizes := graph.Cast(n.Scope, graph.Pack(n.Scope, t.lengths(), 0), tfbridge.Int32)
	return t.finish(n.f("Conv3DBackpropInputV2", map[string]any{"strides": box(t.strides), "padding": padding(t.o.Same)}, sizes, t.kernel, x))
}

// transposed is a transposed convolution of any number of dimensions.
type transposed struct {
	n             *Net
	name          string
	o             *ConvOptions
	x, kernel     tfbridge.Output
	size, strides []int64
	filters       int64
}

// transposed starts a transposed convolution; nil after a failure.
func (n *Net) transposed(kind string, x tfbridge.Output, filters int64, size []int64, o *ConvOptions) *transposed {
	if o == nil {
		o = &ConvOptions{}
	}
	t := &transposed{n: n, name: n.Layer(o.Name, kind), o: o, x: x, size: size, filters: filters}
	if o.Dilation != nil || o.Causal {
		n.fail("%s: a transposed convolution has no dilation, and its padding is not \"causal\"", t.name)
	}
	t.strides = n.sizes(t.name, o.Strides, len(size))
	t.kernel = n.Variable(t.name+"/kernel", append(slices.Clone(size), filters, last(x)), &VariableOptions{Initializer: o.KernelInitializer})
	if n.Err() != nil {
		return nil
	}
	return t
}

// lengths returns the sizes of the result: of the batch, of each dimension, of the channels.
func (t *transposed) lengths() []tfbridge.Output {
	s := t.n.Scope
	shape := graph.Shape(s, t.x)
	dims := []tfbridge.Output{graph.Subscript(s, shape, graph.At(0))}
	for i, stride := range t.strides {
		length := graph.Mul(s, graph.Subscript(s, shape, graph.At(int64(i+1))), s.Const(stride))
		if extra := t.size[i] - stride; !t.o.Same && extra > 0 {
			length = graph.Add(s, length, s.Const(extra))
		}
		dims = append(dims, length)
	}
	return append(dims, s.Const(t.filters))
}

// finish sets the static shape and adds the bias and the activation.
func (t *transposed) finish(y tfbridge.Output) tfbridge.Output {
	if t.n.Err() != nil {
		return tfbridge.Output{}
	}
	shape := []int64{dim(t.x, 0)}
	for i, stride := range t.strides {
		length := int64(-1)
		if from := dim(t.x, i+1); from >= 0 {
			length = from * stride
			if !t.o.Same {
				length += max(0, t.size[i]-stride)
			}
		}
		shape = append(shape, length)
	}
	t.n.UpdateErr("layer", t.n.Graph().SetShape(y, tfbridge.MakeShape(append(shape, t.filters)...)))
	return t.n.finish(t.name, y, t.filters, t.o)
}
