package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// TensorFlow broadcasts the inputs of x + y to a common shape. Each element of a
// broadcast input then affects several elements of the result, and its derivative is
// the sum of their derivatives. Which dimensions to sum depends on both shapes. Shapes
// that are known when the graph is built need no operations for that. They are known
// often enough to matter: the bias of a layer always has a known shape.

// unbroadcast returns the derivative of input i, given d in the shape of the result
// of inputs i and other.
func (c *call) unbroadcast(i int, d tfbridge.Output, other int) tfbridge.Output {
	if d.Op == nil || !c.active[i] {
		return tfbridge.Output{}
	}
	x, y := c.x(i).Shape(), c.x(other).Shape()
	if axes, ok := broadcastAxes(x, y, d.Shape()); ok {
		return c.sumTo(c.x(i), d, axes)
	}
	return c.dynamicSum(c.x(i), d, c.shape(c.x(other)))
}

// unbroadcastTo is unbroadcast where the result has several other inputs: it
// compares the shapes of the input and of d.
func (c *call) unbroadcastTo(i int, d tfbridge.Output) tfbridge.Output {
	if d.Op == nil || !c.active[i] {
		return tfbridge.Output{}
	}
	if axes, ok := broadcastAxes(c.x(i).Shape(), d.Shape(), d.Shape()); ok {
		return c.sumTo(c.x(i), d, axes)
	}
	return c.dynamicSum(c.x(i), d, c.shape(d))
}

// dynamicSum sums d to the shape of x, which was broadcast with a shape that is
// known when the graph runs.
func (c *call) dynamicSum(x, d, other tfbridge.Output) tfbridge.Output {
	shape := c.shape(x)
	axes := c.Op("BroadcastGradientArgs", nil, shape, other)
	if c.Err() != nil {
		return tfbridge.Output{}
	}
	return c.setShape(graph.Reshape(c.Scope, c.f("Sum", d, axes[0]), shape), x)
}

// sumTo sums d over axes to the shape of x.
func (c *call) sumTo(x, d tfbridge.Output, axes []int32) tfbridge.Output {
	if len(axes) > 0 {
		d = c.f("Sum", d, c.Const(axes))
	}
	if d.Op != nil && d.Shape().NumDimensions() == x.Shape().NumDimensions() {
		return d
	}
	return c.reshapeLike(d, x)
}

// reshapeLike gives d the shape of x.
func (c *call) reshapeLike(d, x tfbridge.Output) tfbridge.Output {
	unknown := 0
	dims := x.Shape().Dims()
	for _, n := range dims {
		if n < 0 {
			unknown++
		}
	}
	if x.Shape().NumDimensions() >= 0 && unknown == 0 {
		return graph.Reshape(c.Scope, d, c.Const(narrow(dims)))
	}
	return c.setShape(graph.Reshape(c.Scope, d, c.shape(x)), x)
}

// setShape declares that o has the shape of x.
func (c *call) setShape(o, x tfbridge.Output) tfbridge.Output {
	if o.Op == nil || x.Shape().NumDimensions() < 0 {
		return o
	}
	if err := c.Graph().SetShape(o, x.Shape()); err != nil {
		c.UpdateErr("gradients", err)
	}
	return o
}

// narrow returns dimensions as int32, never nil.
func narrow(dims []int64) []int32 {
	out := make([]int32, len(dims))
	for i, d := range dims {
		out[i] = int32(d)
	}
	return out
}

// broadcastAxes returns the axes of d over which to sum, for x that was broadcast with
// y. ok is false if that depends on unknown dimensions.
func broadcastAxes(x, y, d tfbridge.Shape) (axes []int32, ok bool) {
	n, m, rank := x.NumDimensions(), y.NumDimensions(), d.NumDimensions()
	if n < 0 || m < 0 || rank < 0 {
		return nil, false
	}
	for axis := range rank {
		i, j := axis-(rank-n), axis-(rank-m)
		switch {
		case i < 0:
			axes = append(axes, int32(axis))
		case x.Size(i) == 1:
			if j >= 0 && y.Size(j) != 1 {
				axes = append(axes, int32(axis))
			}
		case x.Size(i) < 0 && j >= 0 && y.Size(j) != 1:
			return nil, false
		}
	}
	return axes, true
}
