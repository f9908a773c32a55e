package layers

import (
	"cmp"

	"millrace/graph"
	"millrace/tfbridge"
)

// Concatenate is keras.layers.Concatenate along an axis, counted from the end if it is
// negative.
func Concatenate(n *Net, axis int64, xs ...tfbridge.Output) tfbridge.Output {
	if !n.several("concatenate", 1, xs) {
		return tfbridge.Output{}
	}
	return graph.ConcatV2(n.Scope, xs, axis)
}

// Add is keras.layers.Add: the sum of tensors.
func Add(n *Net, xs ...tfbridge.Output) tfbridge.Output { return n.fold("add", graph.Add, xs) }

// Subtract is keras.layers.Subtract.
func Subtract(n *Net, x, y tfbridge.Output) tfbridge.Output { return graph.Sub(n.Scope, x, y) }

// Multiply is keras.layers.Multiply: the product of tensors, element by element.
func Multiply(n *Net, xs ...tfbridge.Output) tfbridge.Output {
	return n.fold("multiply", graph.Mul, xs)
}

// Maximum is keras.layers.Maximum, element by element.
func Maximum(n *Net, xs ...tfbridge.Output) tfbridge.Output {
	return n.fold("maximum", graph.Maximum, xs)
}

// Minimum is keras.layers.Minimum, element by element.
func Minimum(n *Net, xs ...tfbridge.Output) tfbridge.Output {
	return n.fold("minimum", graph.Minimum, xs)
}

// Average is keras.layers.Average: the mean of tensors, element by element.
func Average(n *Net, xs ...tfbridge.Output) tfbridge.Output {
	sum := n.fold("average", graph.Add, xs)
	if n.Err() != nil {
		return sum
	}
	return n.f("RealDiv", nil, sum, n.Const(float32(len(xs))))
}

// DotOptions are the options of Dot. Nil and the zero value mean the defaults.
type DotOptions struct {
	Axes      [2]int // the axis of each tensor, counted with the batch; 0: 1
	Normalize bool   // scale the vectors to length 1: the result is the cosine of the angles
}

// Dot is keras.layers.Dot of matrices or of batches of vectors: the sum of products along
// an axis of each.
func Dot(n *Net, x, y tfbridge.Output, o *DotOptions) tfbridge.Output {
	if o == nil {
		o = &DotOptions{}
	}
	axes := [2]int{cmp.Or(o.Axes[0], 1), cmp.Or(o.Axes[1], 1)}
	if o.Normalize {
		x, y = n.unit(x, int32(axes[0])), n.unit(y, int32(axes[1]))
	}
	rank, other := graph.SpecOf(x).Shape.NumDimensions(), graph.SpecOf(y).Shape.NumDimensions()
	if rank != other || rank < 2 || rank > 3 || axes[0] < 1 || axes[1] < 1 || axes[0] >= rank || axes[1] >= rank {
		n.fail("dot: tensors of rank %d and %d along the axes %v; both must have rank 2 or 3, and the axes must be behind the batch", rank, other, axes)
		return tfbridge.Output{}
	}
	if rank == 2 {
		return n.f("Sum", map[string]any{"keep_dims": true}, graph.Mul(n.Scope, x, y), n.Const([]int32{1}))
	}
	return n.f("BatchMatMulV2", map[string]any{"adj_x": axes[0] == 1, "adj_y": axes[1] == 2}, x, y)
}

// unit scales vectors along an axis to length 1.
func (n *Net) unit(x tfbridge.Output, axis int32) tfbridge.Output {
	squares := n.f("Sum", map[string]any{"keep_dims": true}, n.f("Square", nil, x), n.Const([]int32{axis}))
	return graph.Mul(n.Scope, x, n.f("Rsqrt", nil, graph.Maximum(n.Scope, squares, n.Const(float32(1e-12)))))
}

// fold joins tensors by an operation on two.
func (n *Net) fold(kind string, f func(s *graph.Scope, x, y tfbridge.Output) tfbridge.Output, xs []tfbridge.Output) tfbridge.Output {
	if !n.several(kind, 2, xs) {
		return tfbridge.Output{}
	}
	y := xs[0]
	for _, x := range xs[1:] {
		y = f(n.Scope, y, x)
	}
	return y
}

// several fails unless there are enough tensors.
func (n *Net) several(kind string, least int, xs []tfbridge.Output) bool {
	if len(xs) < least {
		n.fail("%s: %d tensors; there must be at least %d", kind, len(xs), least)
	}
	return n.Err() == nil
}
