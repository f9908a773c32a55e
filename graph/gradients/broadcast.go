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

// sumTo sums d over axes to the shape of x.
func (a arithmetic) sumTo(x, d tfbridge.Output, axes []int32) tfbridge.Output {
	if len(axes) > 0 {
		d = a.f("Sum", d, a.Const(axes))
	}
	if d.Op != nil && d.Shape().NumDimensions() == x.Shape().NumDimensions() {
		return d
	}
	return a.reshapeLike(d, x)
}

// dynamicSum sums d to the shape of x, which was broadcast with a shape that is
// known when the graph runs.
func (a arithmetic) dynamicSum(x, d, other tfbridge.Output) tfbridge.Output {
	shape := a.shape(x)
	axes := a.Op("BroadcastGradientArgs", nil, shape, other)
	if a.Err() != nil {
		return tfbridge.Output{}
	}
	return a.setShape(graph.Reshape(a.Scope, a.f("Sum", d, axes[0]), shape), x)
}

// reshapeLike gives d the shape of x.
func (a arithmetic) reshapeLike(d, x tfbridge.Output) tfbridge.Output {
	unknown := 0
	dims := x.Shape().Dims()
	for _, n := range dims {
		if n < 0 {
			unknown++
		}
	}
	if x.Shape().NumDimensions() >= 0 && unknown == 0 {
		return graph.Reshape(a.Scope, d, a.Const(narrow(dims)))
	}
	return a.setShape(graph.Reshape(a.Scope, d, a.shape(x)), x)
}

// setShape declares that o has the shape of x.
func (a arithmetic) setShape(o, x tfbridge.Output) tfbridge.Output {
	if o.Op == nil || x.Shape().NumDimensions() < 0 {
		return o
	}
	if err := a.Graph().SetShape(o, x.Shape()); err != nil {
		a.UpdateErr("gradients", err)
	}
	return o
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
