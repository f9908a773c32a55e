package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// PoolOptions are the options of pooling. Nil and the zero value mean Keras's
// defaults.
type PoolOptions struct {
	Strides []int64 // nil: as the size
	Same    bool    // padding "same"; false: "valid"
}

// MaxPool1D is keras.layers.MaxPooling1D: the largest element of each window of size
// steps.
func MaxPool1D(n *Net, x tfbridge.Output, size int64, o *PoolOptions) tfbridge.Output {
	return n.pool1D("MaxPool", x, size, o)
}

// AveragePool1D is keras.layers.AveragePooling1D: the mean of each window of size
// steps.
func AveragePool1D(n *Net, x tfbridge.Output, size int64, o *PoolOptions) tfbridge.Output {
	return n.pool1D("AvgPool", x, size, o)
}

// MaxPool2D is keras.layers.MaxPooling2D: the largest element of each window.
func MaxPool2D(n *Net, x tfbridge.Output, size []int64, o *PoolOptions) tfbridge.Output {
	return n.pool("MaxPool", x, size, o)
}

// AveragePool2D is keras.layers.AveragePooling2D: the mean of each window.
func AveragePool2D(n *Net, x tfbridge.Output, size []int64, o *PoolOptions) tfbridge.Output {
	return n.pool("AvgPool", x, size, o)
}

// pool1D pools sequences, as images of height 1.
func (n *Net) pool1D(op string, x tfbridge.Output, size int64, o *PoolOptions) tfbridge.Output {
	images := &PoolOptions{}
	if o != nil {
		*images = *o
	}
	if images.Strides != nil {
		images.Strides = append([]int64{1}, n.sizes("pooling", images.Strides, 1)...)
	}
	y := n.pool(op, graph.ExpandDims(n.Scope, x, 1), []int64{1, size}, images)
	return n.f("Squeeze", map[string]any{"squeeze_dims": []int64{1}}, y)
}

// pool adds an operation on windows.
func (n *Net) pool(op string, x tfbridge.Output, size []int64, o *PoolOptions) tfbridge.Output {
	if o == nil {
		o = &PoolOptions{}
	}
	strides := o.Strides
	if strides == nil {
		strides = size
	}
	size, strides = n.sizes("pooling", size, 2), n.sizes("pooling", strides, 2)
	return n.f(op, map[string]any{"ksize": window(size), "strides": window(strides), "padding": padding(o.Same)}, x)
}

// GlobalAveragePool1D is keras.layers.GlobalAveragePooling1D: the mean of each channel
// over all steps.
func GlobalAveragePool1D(n *Net, x tfbridge.Output) tfbridge.Output {
	return n.f("Mean", nil, x, n.Const([]int32{1}))
}

// GlobalAveragePool2D is keras.layers.GlobalAveragePooling2D: the mean of each
// channel.
func GlobalAveragePool2D(n *Net, x tfbridge.Output) tfbridge.Output {
	return n.f("Mean", nil, x, n.Const([]int32{1, 2}))
}

// GlobalMaxPool1D is keras.layers.GlobalMaxPooling1D: the largest element of each
// channel over all steps.
func GlobalMaxPool1D(n *Net, x tfbridge.Output) tfbridge.Output {
	return n.f("Max", nil, x, n.Const([]int32{1}))
}

// GlobalMaxPool2D is keras.layers.GlobalMaxPooling2D: the largest element of each
// channel.
func GlobalMaxPool2D(n *Net, x tfbridge.Output) tfbridge.Output {
	return n.f("Max", nil, x, n.Const([]int32{1, 2}))
}

// UpSampling2D is keras.layers.UpSampling2D: each pixel becomes a rectangle of that
// height and width.
func UpSampling2D(n *Net, x tfbridge.Output, size []int64) tfbridge.Output {
	size = n.sizes("upsampling", size, 2)
	s := n.Scope
	now := graph.Cast(s, graph.Subscript(s, graph.Shape(s, x), graph.Between(1, 3)), tfbridge.Int32)
	to := graph.Mul(s, now, s.Const([]int32{int32(size[0]), int32(size[1])}))
	return n.f("ResizeNearestNeighbor", nil, x, to)
}

// ZeroPadding2D is keras.layers.ZeroPadding2D: rows of zeros above and below, and
// columns to the left and to the right of each image.
func ZeroPadding2D(n *Net, x tfbridge.Output, rows, columns [2]int64) tfbridge.Output {
	return n.f("Pad", nil, x, n.Const([][]int64{{0, 0}, rows[:], columns[:], {0, 0}}))
}
