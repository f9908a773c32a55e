package dataset

import (
	"reflect"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/elements"
	"millrace/tfbridge"
)

// A [Sparse] or [Ragged] of a sequence passes from Go to the graph as its tensors, each
// in its own part. A map after the source joins the tensors of each element to the
// variant that is its component:
//
//	Go element              chunk of elements             element of the dataset
//	Sparse{Indices,    ->   indices [n, values, rank] ->  variant
//	  Values, Shape}        values  [n, values]
//	                        shape   [n, rank]
//	Ragged{Splits,     ->   splits  [n, rows + 1]     ->  variant
//	  Values, Inner}        values  [n, values]
//
// A chunk stacks its elements, so it ends where the number of values changes, as it does
// for slices of other lengths. If Go could make variants, no map would be needed, but the C
// API has no function for that.

// isComposite reports whether a Go type is a [Sparse] or [Ragged].
func isComposite(t reflect.Type) bool { return t.Implements(reflect.TypeFor[leafer]()) }

// isSparse reports whether a composite type is a [Sparse].
func isSparse(t reflect.Type) bool {
	_, ok := t.FieldByName("Indices")
	return ok
}

// compositeSpec returns the structure of a [Sparse] or [Ragged].
func compositeSpec(t reflect.Type, said graph.Spec) *Structure {
	values, _ := t.FieldByName("Values")
	dtype, _, _ := tfbridge.TypeSpec(values.Type) // compositeParts reports the error
	dims, err := said.Shape.ToSlice()
	known := said.DType != 0 && err == nil
	switch {
	case isSparse(t) && known:
		return SparseSpec(dtype, said.Shape)
	case isSparse(t):
		return SparseSpec(dtype, tfbridge.Shape{})
	case !known:
		dims = []int64{-1, -1}
	}
	rank := len(dims) - 1
	for rank > 0 && dims[rank] >= 0 {
		rank--
	}
	return RaggedSpec(dtype, tfbridge.MakeShape(dims...), rank)
}

// compositeParts returns the tensors of a [Sparse] or [Ragged].
func compositeParts(t reflect.Type, said graph.Spec) ([]elements.Component, error) {
	field, _ := t.FieldByName("Values")
	dtype, shape, err := tfbridge.TypeSpec(field.Type)
	spec := compositeSpec(t, said)
	rank := spec.Spec.Shape.NumDimensions()
	switch {
	case err != nil || shape.NumDimensions() != 1:
		return nil, millrace.Errorf(millrace.ErrModel, "the values of a %v are no numbers, bools or strings", t)
	case said.DType != 0 && said.DType != dtype:
		return nil, millrace.Errorf(millrace.ErrModel, "a %v is of type %v, the options say %v", t, dtype, said.DType)
	case spec.Kind == KindSparse && rank == 0:
		return nil, millrace.Errorf(millrace.ErrModel, "a %v has at least one dimension, the options say none", t)
	case spec.Kind == KindRagged && spec.RaggedRank < 1:
		return nil, millrace.Errorf(millrace.ErrModel, "a %v of shape %v has no ragged dimension: one behind the first must be -1", t, spec.Spec.Shape)
	}
	values := elements.Component{Spec: graph.Spec{DType: dtype, Shape: tfbridge.MakeShape(-1)}, Empty: true, Of: fieldOf("Values")}
	numbers := func(dims ...int64) graph.Spec {
		return graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(dims...)}
	}
	if spec.Kind == KindSparse {
		return []elements.Component{
			{Spec: numbers(-1, -1), Empty: true, Of: checked(spec, fieldOf("Indices"))}, values, {Spec: numbers(int64(rank)), Of: fieldOf("Shape")},
		}, nil
	}
	var parts []elements.Component
	for i := range spec.RaggedRank {
		parts = append(parts, elements.Component{Spec: numbers(-1), Of: checked(spec, func(v reflect.Value) (reflect.Value, error) {
			return v.FieldByName("Splits").Index(i), nil
		})})
	}
	return append(parts, values), nil
}

// fieldOf returns the function that returns a field of a struct.
func fieldOf(name string) func(v reflect.Value) (reflect.Value, error) {
	return func(v reflect.Value) (reflect.Value, error) { return v.FieldByName(name), nil }
}

// checked returns of, preceded by a check that the value fits the structure. Its errors are
// of class millrace.ErrSchema.
func checked(t *Structure, of func(v reflect.Value) (reflect.Value, error)) func(v reflect.Value) (reflect.Value, error) {
	return func(v reflect.Value) (reflect.Value, error) {
		value := v.Interface().(interface {
			check() error
			fits(t *Structure) bool
		})
		if err := value.check(); err != nil {
			return v, millrace.Errorf(millrace.ErrSchema, "%v", err)
		}
		if !value.fits(t) {
			return v, millrace.Errorf(millrace.ErrSchema, "the value has another rank or shape than %v", t)
		}
		return of(v)
	}
}

// fits reports whether x is of a structure.
func (x Sparse[T]) fits(t *Structure) bool { return t.Spec.Shape.Accepts(x.Shape) }

// fits reports whether x is of a structure.
func (x Ragged[T]) fits(t *Structure) bool {
	want := t.Spec.Shape.Dims()
	if len(x.Splits) != t.RaggedRank || len(x.Inner) != len(want)-t.RaggedRank-1 {
		return false
	}
	if want[0] >= 0 && want[0] != int64(len(x.Splits[0])-1) {
		return false
	}
	for i, splits := range x.Splits {
		for row := range splits[1:] {
			if n := splits[row+1] - splits[row]; want[i+1] >= 0 && want[i+1] != n {
				return false
			}
		}
	}
	return slices.Equal(x.Inner, want[t.RaggedRank+1:])
}

// joinParts returns d with the structure t: it joins the tensors of t's sparse and ragged
// parts.
func (d *Dataset) joinParts(t *Structure) *Dataset {
	if d.scope.Err() != nil || t.onlyDense() {
		return d.as(t)
	}
	leaves := t.Leaves()
	return d.Map("join", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		var components []tfbridge.Output
		for _, leaf := range leaves {
			parts := slices.Clone(args[:leaf.size()])
			args = args[leaf.size():]
			components = append(components, leaf.component(s, leaf.reshaped(s, parts), false))
		}
		return components
	}, nil).as(t)
}

// reshaped returns the tensors of a leaf in their final shapes. Empty indices come from
// Go without a rank, and the values of a ragged part are flat.
func (t *Structure) reshaped(s *graph.Scope, parts []tfbridge.Output) []tfbridge.Output {
	last := len(parts) - 1
	switch t.Kind {
	case KindSparse:
		shape := graph.Pack(s, []tfbridge.Output{graph.Size(s, parts[1]), graph.Size(s, parts[2])}, 0)
		parts[0] = graph.Reshape(s, parts[0], shape)
	case KindRagged:
		dims, err := t.valuesShape().ToSlice()
		if err != nil || len(dims) == 1 {
			return parts
		}
		rows := graph.Subscript(s, parts[last-1], graph.At(-1)) // a -1 is ambiguous where another dimension is 0
		shape := graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, rows, 0), s.Const(dims[1:])}, 0)
		parts[last] = graph.Reshape(s, parts[last], shape)
	}
	return parts
}
