package train

import (
	"fmt"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Tensors are the arguments and results of batching functions: one example, several, or a
// batch. A batch has the lists and the names of the examples.
type Tensors struct {
	Dense  []tfbridge.Output
	Sparse []graph.SparseTensor

	// Named and NamedSparse have tensors by name, such as the features of
	// graph.ParseSingleExample. Sorted by name, they follow the tensors of Dense and
	// Sparse: see [EnqueueOptions.Shapes].
	Named       map[string]tfbridge.Output
	NamedSparse map[string]graph.SparseTensor
}

// EnqueueOptions are the options common to all batching functions.
type EnqueueOptions struct {
	// EnqueueMany declares that the first dimension of each tensor counts examples. A
	// record may yield several examples, or none, which skips it.
	EnqueueMany bool
	// Shapes are the shapes of the dense tensors of one example: first those in Dense, then
	// those in Named, sorted by name. Nil: the shapes that TensorFlow infers. Without
	// DynamicPad they must be fully defined.
	Shapes []tfbridge.Shape
	// AllowSmallerFinalBatch returns the remaining examples at the end of the data as a
	// smaller batch. By default they are dropped, as in Python.
	AllowSmallerFinalBatch bool
	SharedName             string // shared name of the queue: see [queue.Options]
}

// batching is a batching function with its arguments.
type batching struct {
	name      string
	lists     []Tensors
	source    Tensors // the first list, with its names
	join      bool
	threads   int
	keep      tfbridge.Output
	batchSize int
	pad       bool
	EnqueueOptions
}

// check returns an error if an argument other than the tensors is invalid.
func (b batching) check() error {
	switch {
	case b.batchSize < 0:
		return millrace.Errorf(millrace.ErrModel, "the batch size is %d, must not be negative", b.batchSize)
	case b.threads < 0 || b.threads > maxGoroutines:
		return millrace.Errorf(millrace.ErrModel, "NumThreads is %d, must be from 0 to %d", b.threads, maxGoroutines)
	case b.join && b.threads != 0:
		return millrace.Errorf(millrace.ErrModel, "NumThreads is %d; a join has a goroutine for each of its Tensors", b.threads)
	}
	return b.checkKeep()
}

// components returns the components of an element of the queue: the dense tensors, then the
// serialized sparse ones.
func (b batching) components() ([]graph.Spec, error) {
	if len(b.lists) == 0 || len(b.lists[0].Dense)+len(b.lists[0].Sparse) == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "there are no tensors")
	}
	first := b.lists[0]
	if b.Shapes != nil && len(b.Shapes) != len(first.Dense) {
		return nil, millrace.Errorf(millrace.ErrModel, "%d Shapes for %d dense tensors", len(b.Shapes), len(first.Dense))
	}
	var components []graph.Spec
	for i := range first.Dense {
		c, err := b.component(i)
		if err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, err)
		}
		components = append(components, c)
	}
	for i := range first.Sparse {
		if err := b.checkSparse(i); err != nil {
			return nil, fmt.Errorf("sparse tensor %d: %w", i, err)
		}
		components = append(components, serializedSparse)
	}
	return components, nil
}

// component returns the most specific spec that dense tensor i has in all lists.
func (b batching) component(i int) (graph.Spec, error) {
	var c graph.Spec
	for n, list := range b.lists {
		if len(list.Dense) != len(b.lists[0].Dense) || len(list.Sparse) != len(b.lists[0].Sparse) {
			return c, millrace.Errorf(millrace.ErrModel, "all Tensors must have the same number of tensors")
		}
		spec, err := b.example(list.Dense[i])
		if err != nil {
			return c, err
		}
		if b.Shapes != nil {
			spec.Shape = b.Shapes[i]
		}
		if n == 0 {
			c = spec
			continue
		}
		if spec.DType != c.DType || !spec.Shape.IsCompatibleWith(c.Shape) {
			return c, millrace.Errorf(millrace.ErrModel, "%v of one source and %v of another do not fit", c, spec)
		}
		if b.pad {
			c.Shape = lessSpecific(c.Shape, spec.Shape)
		} else {
			c.Shape = moreSpecific(c.Shape, spec.Shape)
		}
	}
	if b.pad && c.Shape.NumDimensions() < 0 {
		return c, millrace.Errorf(millrace.ErrModel, "its rank is not known; set Shapes")
	}
	if !b.pad && !c.Shape.IsFullySpecified() {
		return c, millrace.Errorf(millrace.ErrModel, "its shape is %v; set Shapes, or DynamicPad if examples differ", c.Shape)
	}
	return c, nil
}

// example returns the spec of a tensor within one example.
func (b batching) example(x tfbridge.Output) (graph.Spec, error) {
	spec := graph.SpecOf(x)
	if x.Op == nil {
		return spec, millrace.Errorf(millrace.ErrModel, "it is the zero Output")
	}
	if !b.EnqueueMany || spec.Shape.NumDimensions() < 0 {
		return spec, nil
	}
	if spec.Shape.NumDimensions() == 0 {
		return spec, millrace.Errorf(millrace.ErrModel, "it is a scalar; with EnqueueMany the first dimension counts examples")
	}
	spec.Shape = tfbridge.MakeShape(spec.Shape.Dims()[1:]...)
	return spec, nil
}

// lessSpecific returns the most specific shape that accepts both of two compatible shapes.
func lessSpecific(a, b tfbridge.Shape) tfbridge.Shape {
	if a.NumDimensions() < 0 || b.NumDimensions() < 0 {
		return tfbridge.Shape{}
	}
	dims := a.Dims()
	for i, d := range b.Dims() {
		dims[i] = min(dims[i], d)
	}
	return tfbridge.MakeShape(dims...)
}

// checkKeep returns an error if keepInput is invalid.
func (b batching) checkKeep() error {
	if b.keep.Op == nil {
		return nil
	}
	keep := graph.SpecOf(b.keep)
	switch rank := keep.Shape.NumDimensions(); {
	case keep.DType != tfbridge.Bool:
		return millrace.Errorf(millrace.ErrModel, "keepInput is %v, must be of type bool", keep)
	case rank < 0:
		return millrace.Errorf(millrace.ErrModel, "the rank of keepInput is not known; it must be a scalar or a vector")
	case rank == 1 && !b.EnqueueMany:
		return millrace.Errorf(millrace.ErrModel, "keepInput is a vector, which needs EnqueueMany")
	case rank > 1:
		return millrace.Errorf(millrace.ErrModel, "keepInput has %d dimensions; it must be a scalar or a vector", rank)
	}
	return nil
}

// serializedSparse is the spec of a sparse tensor of one example in a queue: its indices,
// values and shape, each serialized.
var serializedSparse = graph.Spec{DType: tfbridge.String, Shape: tfbridge.MakeShape(3)}

// checkSparse returns an error if sparse tensor i of the lists is invalid.
func (b batching) checkSparse(i int) error {
	for _, list := range b.lists {
		if i >= len(list.Sparse) || len(list.Sparse) != len(b.lists[0].Sparse) || len(list.Dense) != len(b.lists[0].Dense) {
			return millrace.Errorf(millrace.ErrModel, "all Tensors must have the same number of tensors")
		}
		x, first := list.Sparse[i], b.lists[0].Sparse[i]
		if x.Indices.Op == nil || x.Values.Op == nil || x.Shape.Op == nil {
			return millrace.Errorf(millrace.ErrModel, "one of its parts is the zero Output")
		}
		if x.Values.DataType() != first.Values.DataType() || !graph.SpecOf(x.Shape).Shape.IsCompatibleWith(graph.SpecOf(first.Shape).Shape) {
			return millrace.Errorf(millrace.ErrModel, "the sources do not agree in its data type or its rank")
		}
	}
	return nil
}
