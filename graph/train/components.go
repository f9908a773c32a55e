package train

import (
	"fmt"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Tensors are what a batching function takes and returns: one example, several, or a
// batch. A batch has the lists and the names of the examples.
type Tensors struct {
	Dense  []tfbridge.Output
	Sparse []graph.SparseTensor

	// Named and NamedSparse have tensors by name, such as the features of
	// graph.ParseSingleExample. In the order of the names they follow those of Dense
	// and Sparse: see [EnqueueOptions.Shapes].
	Named       map[string]tfbridge.Output
	NamedSparse map[string]graph.SparseTensor
}

// EnqueueOptions are the options that all batching functions have.
type EnqueueOptions struct {
	// EnqueueMany says that the first dimension of each tensor counts examples. There
	// may be none, which leaves a record out, or several from one record.
	EnqueueMany bool
	// Shapes are those of the dense tensors of one example: first those of Dense, then
	// those of Named in the order of their names. Nil: as far as TensorFlow infers
	// them. Without DynamicPad they must be fully defined.
	Shapes []tfbridge.Shape
	// AllowSmallerFinalBatch hands out the examples that are left at the end of the
	// data. Default: fewer than a batch are dropped, as in Python.
	AllowSmallerFinalBatch bool
	SharedName             string // of the queue: see [queue.Options]
}

// batching is a batching function with its arguments.
type batching struct {
	name      string
	lists     []Tensors
	source    Tensors // the first of them, with its names
	join      bool
	threads   int
	keep      tfbridge.Output
	batchSize int
	pad       bool
	EnqueueOptions
}

// check returns what is wrong with the arguments that are not tensors.
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

// components returns what an element of the queue consists of: the dense tensors, then
// the serialized sparse ones.
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

// component returns what all lists have in common in dense tensor i.
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

// example returns what a tensor is in one example.
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

// lessSpecific returns what two compatible shapes have in common.
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

// checkKeep returns what is wrong with what says which examples to keep.
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

// serializedSparse is a sparse tensor of one example as it passes a queue: its
// indices, values and shape, each serialized.
var serializedSparse = graph.Spec{DType: tfbridge.String, Shape: tfbridge.MakeShape(3)}

// checkSparse returns what is wrong with sparse tensor i of the lists.
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
