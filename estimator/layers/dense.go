package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// DenseOptions are the options of a dense layer. Nil and the zero value mean Keras's
// defaults.
type DenseOptions struct {
	Name              string      // "": dense, dense_1, ...
	Activation        Activation  // nil: none
	NoBias            bool        // leaves the bias away
	KernelInitializer Initializer // nil: GlorotUniform
	BiasInitializer   Initializer // nil: Zeros
}

// Dense multiplies the last dimension by a matrix and adds a bias. It is
// keras.layers.Dense.
func Dense(n *Net, x tfbridge.Output, units int64, o *DenseOptions) tfbridge.Output {
	if o == nil {
		o = &DenseOptions{}
	}
	name := n.Layer(o.Name, "dense")
	kernel := n.Variable(name+"/kernel", []int64{last(x), units}, &VariableOptions{Initializer: o.KernelInitializer})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	y := n.product(x, kernel, units)
	if !o.NoBias {
		y = n.f("BiasAdd", nil, y, n.bias(name, units, o.BiasInitializer))
	}
	return n.activated(o.Activation, y)
}

// product multiplies the last dimension of x, which may have any rank, by a matrix.
func (n *Net) product(x, kernel tfbridge.Output, units int64) tfbridge.Output {
	if x.Shape().NumDimensions() == 2 {
		return n.f("MatMul", nil, x, kernel)
	}
	s := n.Scope
	outer := graph.Subscript(s, graph.Shape(s, x), graph.Until(-1))
	rows := graph.Reshape(s, x, s.Const([]int64{-1, last(x)}))
	y := graph.Reshape(s, n.f("MatMul", nil, rows, kernel), graph.ConcatV2(s, []tfbridge.Output{outer, s.Const([]int64{units})}, 0))
	return n.shaped(y, x, units)
}

// shaped sets the static shape of y to the shape of x except for the last dimension.
func (n *Net) shaped(y, x tfbridge.Output, units int64) tfbridge.Output {
	dims := graph.SpecOf(x).Shape.Dims()
	if n.Err() != nil || len(dims) == 0 {
		return y
	}
	dims[len(dims)-1] = units
	n.UpdateErr("layer", n.Graph().SetShape(y, tfbridge.MakeShape(dims...)))
	return y
}

// bias returns the bias of a layer.
func (n *Net) bias(layer string, units int64, init Initializer) tfbridge.Output {
	if init == nil {
		init = Zeros
	}
	return n.Variable(layer+"/bias", []int64{units}, &VariableOptions{Initializer: init})
}

// Flatten makes a vector of each example.
func Flatten(n *Net, x tfbridge.Output) tfbridge.Output {
	size := int64(1)
	for i := 1; i < graph.SpecOf(x).Shape.NumDimensions(); i++ {
		if size *= dim(x, i); dim(x, i) < 0 {
			n.fail("flatten: the shape %v of an example is not known", x.Shape())
			return tfbridge.Output{}
		}
	}
	return graph.Reshape(n.Scope, x, n.Const([]int64{-1, size}))
}
