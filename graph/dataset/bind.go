package dataset

import (
	"fmt"
	"reflect"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Bind returns the components of an element in a graph as a T: a struct whose
// fields are named by tags such as `tf:"image"`, a map[string]V, a slice, or
// any of these within each other; with parts that are [tfbridge.Output],
// [graph.SparseTensor], [graph.RaggedTensor], [RaggedOutput] and, from
// windows, *Dataset. A struct may leave out fields of the element; for a tuple
// its fields count by their places. T may be any, too: then fields are a
// map[string]any and tuples a []any.
//
// A part that T has no place for is a failure of the scope, and the result the
// zero value. It wraps DeserializeSparse and RaggedTensorFromVariant.
func Bind[T any](s *graph.Scope, t *Structure, components []tfbridge.Output) T {
	var v T
	if s.Err() != nil {
		return v
	}
	err := t.check()
	if err == nil && len(t.Leaves()) != len(components) {
		err = millrace.Errorf(millrace.ErrModel, "%d components are no %v", len(components), t)
	}
	if err == nil {
		p := &placer{leaf: func(v reflect.Value, leaf *Structure, i int) error {
			return bindLeaf(s, v, leaf, components[i])
		}}
		err = p.place(reflect.ValueOf(&v).Elem(), t)
	}
	if err != nil {
		s.UpdateErr(fmt.Sprintf("element as a %v", reflect.TypeFor[T]()), err)
	}
	return v
}

// bindLeaf gives a component to v.
func bindLeaf(s *graph.Scope, v reflect.Value, t *Structure, arg tfbridge.Output) error {
	if t.Kind == KindDataset {
		inner := &Dataset{scope: s, variant: arg, specs: t.Parts[0].Specs(), structure: t.Parts[0]}
		return assign(v, reflect.ValueOf(inner), t)
	}
	parts := t.parts(s, arg)
	if err := s.Err(); err != nil {
		return err
	}
	last := len(parts) - 1
	switch {
	case t.Kind == KindSparse:
		return assign(v, reflect.ValueOf(graph.SparseTensor{Indices: parts[0], Values: parts[1], Shape: parts[2]}), t)
	case t.Kind == KindRagged && last == 1 && v.Type() != reflect.TypeFor[RaggedOutput]():
		return assign(v, reflect.ValueOf(graph.RaggedTensor{RowSplits: parts[0], Values: parts[1]}), t)
	case t.Kind == KindRagged && last > 0:
		return assign(v, reflect.ValueOf(RaggedOutput{Splits: parts[:last], Values: parts[last]}), t)
	}
	return assign(v, reflect.ValueOf(parts[last]), t)
}

// assign sets v to x if it can hold it.
func assign(v, x reflect.Value, t *Structure) error {
	if !x.Type().AssignableTo(v.Type()) {
		return millrace.Errorf(millrace.ErrModel, "a %v has no place for %v, which is a %v", v.Type(), t, x.Type())
	}
	v.Set(x)
	return nil
}
