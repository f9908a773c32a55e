package layers

import (
	"slices"

	"millrace/graph"
	"millrace/tfbridge"
)

// Conv3D is keras.layers.Conv3D on volumes of shape [batch, depth, height, width,
// channels]. size is depth, height and width of the filters. There is no dilation:
// TensorFlow has none on a CPU.
func Conv3D(n *Net, x tfbridge.Output, filters int64, size []int64, o *ConvOptions) tfbridge.Output {
	if o == nil {
		o = &ConvOptions{}
	}
	name := n.Layer(o.Name, "conv3d")
	size = n.sizes(name, size, 3)
	if o.Dilation != nil || o.Causal {
		n.fail("%s: a convolution of volumes has no dilation, and its padding is not \"causal\"", name)
	}
	kernel := n.Variable(name+"/kernel", append(slices.Clone(size), last(x), filters), &VariableOptions{Initializer: o.KernelInitializer})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	strides := n.sizes(name, o.Strides, 3)
	y := n.f("Conv3D", map[string]any{"strides": box(strides), "padding": padding(o.Same)}, x, kernel)
	return n.finish(name, y, filters, o)
}

// box returns depth, height and width among the dimensions of a batch of volumes.
func box(size []int64) []int64 { return []int64{1, size[0], size[1], size[2], 1} }

// MaxPool3D is keras.layers.MaxPooling3D: the largest element of each window.
func MaxPool3D(n *Net, x tfbridge.Output, size []int64, o *PoolOptions) tfbridge.Output {
	return n.pool3D("MaxPool3D", x, size, o)
}

// AveragePool3D is keras.layers.AveragePooling3D: the mean of each window.
func AveragePool3D(n *Net, x tfbridge.Output, size []int64, o *PoolOptions) tfbridge.Output {
	return n.pool3D("AvgPool3D", x, size, o)
}

// pool3D adds an operation on windows of volumes.
func (n *Net) pool3D(op string, x tfbridge.Output, size []int64, o *PoolOptions) tfbridge.Output {
	if o == nil {
		o = &PoolOptions{}
	}
	strides := o.Strides
	if strides == nil {
		strides = size
	}
	size, strides = n.sizes("pooling", size, 3), n.sizes("pooling", strides, 3)
	return n.f(op, map[string]any{"ksize": box(size), "strides": box(strides), "padding": padding(o.Same)}, x)
}

// GlobalAveragePool3D is keras.layers.GlobalAveragePooling3D.
func GlobalAveragePool3D(n *Net, x tfbridge.Output) tfbridge.Output {
	return n.f("Mean", nil, x, n.Const([]int32{1, 2, 3}))
}

// GlobalMaxPool3D is keras.layers.GlobalMaxPooling3D.
func GlobalMaxPool3D(n *Net, x tfbridge.Output) tfbridge.Output {
	return n.f("Max", nil, x, n.Const([]int32{1, 2, 3}))
}

// UpSampling is keras.layers.UpSampling1D, 2D or 3D by the number of factors: each element
// is repeated as often along each dimension behind the batch.
func UpSampling(n *Net, x tfbridge.Output, factors ...int64) tfbridge.Output {
	if !n.dimensions("up_sampling", x, len(factors)) {
		return tfbridge.Output{}
	}
	s := n.Scope
	for i, factor := range n.sizes("up_sampling", factors, len(factors)) {
		if factor == 1 {
			continue
		}
		axis := int64(i + 1)
		copies := slices.Repeat([]tfbridge.Output{graph.ExpandDims(s, x, axis+1)}, int(factor))
		joined := graph.ConcatV2(s, copies, axis+1)
		shape := graph.Shape(s, x)
		size := graph.Mul(s, graph.Subscript(s, shape, graph.Between(axis, axis+1)), s.Const([]int64{factor}))
		parts := []tfbridge.Output{graph.Subscript(s, shape, graph.Until(axis)), size, graph.Subscript(s, shape, graph.From(axis+1))}
		x = n.sized(graph.Reshape(s, joined, graph.ConcatV2(s, parts, 0)), x, i+1, func(size int64) int64 { return size * factor })
	}
	return x
}

// sized sets the static shape of y to the shape of x with one size changed.
func (n *Net) sized(y, x tfbridge.Output, axis int, change func(size int64) int64) tfbridge.Output {
	if n.Err() != nil {
		return y
	}
	dims := graph.SpecOf(x).Shape.Dims()
	if dims[axis] >= 0 {
		dims[axis] = change(dims[axis])
	}
	n.UpdateErr("layer", n.Graph().SetShape(y, tfbridge.MakeShape(dims...)))
	return y
}

// ZeroPadding is keras.layers.ZeroPadding1D, 2D or 3D by the number of pairs: zeros before
// and after each dimension behind the batch.
func ZeroPadding(n *Net, x tfbridge.Output, pairs ...[2]int64) tfbridge.Output {
	if !n.dimensions("zero_padding", x, len(pairs)) {
		return tfbridge.Output{}
	}
	paddings := [][]int64{{0, 0}}
	for _, p := range pairs {
		paddings = append(paddings, p[:])
	}
	return n.f("Pad", nil, x, n.Const(append(paddings, []int64{0, 0})))
}

// Cropping is keras.layers.Cropping1D, 2D or 3D by the number of pairs: it takes elements
// away before and after each dimension behind the batch.
func Cropping(n *Net, x tfbridge.Output, pairs ...[2]int64) tfbridge.Output {
	if !n.dimensions("cropping", x, len(pairs)) {
		return tfbridge.Output{}
	}
	at := []graph.Index{graph.Whole()}
	for _, p := range pairs {
		if p[0] < 0 || p[1] < 0 {
			n.fail("cropping: %v; a number of elements must not be negative", p)
			return tfbridge.Output{}
		}
		if p[1] == 0 {
			at = append(at, graph.From(p[0]))
		} else {
			at = append(at, graph.Between(p[0], -p[1]))
		}
	}
	return graph.Subscript(n.Scope, x, at...)
}

// dimensions fails unless x has a batch, that many dimensions, and channels.
func (n *Net) dimensions(kind string, x tfbridge.Output, count int) bool {
	if n.Err() != nil {
		return false
	}
	if rank := graph.SpecOf(x).Shape.NumDimensions(); rank != count+2 || count < 1 {
		n.fail("%s: %d dimensions for a tensor of rank %d; it must have a batch, those and channels", kind, count, rank)
		return false
	}
	return true
}
