package dataset

import (
	"fmt"
	"reflect"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// MapOf is [Dataset.Map] with a function of Go values. The function gets each element
// as an In, made by [Bind], and returns an Out, which [Flatten] converts.
func MapOf[In, Out any](d *Dataset, name string, fn func(s *graph.Scope, element In) Out, o *MapOptions) *Dataset {
	if d == nil || d.scope == nil {
		return d
	}
	if fn == nil {
		return d.fail("MapOf", "function %q is nil", name)
	}
	before, after := d.Spec(), TupleSpec()
	mapped := d.Map(name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		element := Bind[In](s, before, args)
		if s.Err() != nil {
			return nil
		}
		var components []tfbridge.Output
		components, after = Flatten(s, fn(s, element))
		return components
	}, o)
	return mapped.as(after)
}

// PredicateOf converts a function of Go values, made by [Bind], to a function of d's
// components, for [Dataset.Filter], [Dataset.TakeWhile] and the Key of a [Grouping].
func PredicateOf[In any](d *Dataset, fn func(s *graph.Scope, element In) tfbridge.Output) PredicateFunc {
	return func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		element, ok := bound[In](d, s, args, fn == nil)
		if !ok {
			return tfbridge.Output{}
		}
		return fn(s, element)
	}
}

// DatasetOf converts a function of Go values, made by [Bind], to a function of d's
// components, for [Dataset.FlatMap] and [Dataset.Interleave].
func DatasetOf[In any](d *Dataset, fn func(s *graph.Scope, element In) *Dataset) DatasetFunc {
	return func(s *graph.Scope, args []tfbridge.Output) *Dataset {
		element, ok := bound[In](d, s, args, fn == nil)
		if !ok {
			return &Dataset{scope: s}
		}
		return fn(s, element)
	}
}

// bound returns the components of one of d's elements as a Go value.
func bound[In any](d *Dataset, s *graph.Scope, args []tfbridge.Output, missing bool) (In, bool) {
	var element In
	if missing {
		s.UpdateErr("element", millrace.Errorf(millrace.ErrModel, "the function of a %T is nil", element))
	}
	if !usable(s, "element", d) {
		return element, false
	}
	element = Bind[In](s, d.Spec(), args)
	return element, s.Err() == nil
}

// ScanOf is [Dataset.Scan] with a function of Go values. The initial state is a value
// for [Flatten], without datasets in it.
func ScanOf[State, In, Out any](d *Dataset, name string, initial any, fn func(s *graph.Scope, state State, element In) (State, Out)) *Dataset {
	if d == nil || d.scope == nil {
		return d
	}
	if fn == nil {
		return d.fail("ScanOf", "function %q is nil", name)
	}
	first, state := Flatten(d.scope, initial)
	if d.scope.Err() == nil && state.holdsDatasets() {
		return d.fail("ScanOf", "the state of %q is %v, a state cannot hold datasets", name, state)
	}
	before, after := d.Spec(), TupleSpec()
	scanned := d.Scan(name, first, func(s *graph.Scope, at, args []tfbridge.Output) (next, components []tfbridge.Output) {
		last, element := Bind[State](s, state, at), Bind[In](s, before, args)
		if s.Err() != nil {
			return nil, nil
		}
		then, out := fn(s, last, element)
		next, _ = state.flattenNext(s, describe("scan", name), then)
		components, after = Flatten(s, out)
		return next, components
	})
	return scanned.as(after)
}

// ReduceOf is [Dataset.Reduce] with a function of Go values. The initial state is a
// value for [Flatten], without datasets in it. The result is the last state.
func ReduceOf[State, In any](d *Dataset, name string, initial any, fn func(s *graph.Scope, state State, element In) State) State {
	var none State
	if d == nil || d.scope == nil {
		return none
	}
	if fn == nil {
		d.fail("ReduceOf", "function %q is nil", name)
		return none
	}
	first, state := Flatten(d.scope, initial)
	if d.scope.Err() == nil && state.holdsDatasets() {
		d.fail("ReduceOf", "the state of %q is %v, a state cannot hold datasets", name, state)
	}
	before, result := d.Spec(), state
	last := d.Reduce(name, first, func(s *graph.Scope, at, args []tfbridge.Output) []tfbridge.Output {
		sum, element := Bind[State](s, state, at), Bind[In](s, before, args)
		if s.Err() != nil {
			return nil
		}
		next, both := state.flattenNext(s, describe("reduce", name), fn(s, sum, element))
		result = both
		return next
	})
	return Bind[State](d.scope, result, last)
}

// holdsDatasets reports whether a leaf is a dataset.
func (t *Structure) holdsDatasets() bool {
	return slices.ContainsFunc(t.Leaves(), func(leaf *Structure) bool { return leaf.Kind == KindDataset })
}

// flattenNext returns the components of the state that follows a state of structure t,
// and the structure that both have in common. A sparse part must stay sparse, and a
// ragged part must keep its rank: both are stored in variants, whose types do not
// distinguish them.
func (t *Structure) flattenNext(s *graph.Scope, what string, value any) ([]tfbridge.Output, *Structure) {
	next, after := Flatten(s, value)
	if s.Err() != nil {
		return next, t
	}
	leaves := after.Leaves()
	both, i := t, -1
	if len(leaves) == len(t.Leaves()) {
		var err error
		both, err = t.mapLeaves(func(leaf *Structure) (*Structure, error) {
			i++
			if leaf.Kind == KindDense && leaves[i].Kind == KindDense {
				return leaf, nil // Reduce and Scan compare the types
			}
			return leaf.common(leaves[i])
		})
		s.UpdateErr(what, err)
	}
	return next, both
}

// ZipWindow returns the elements of a window: it zips the datasets that
// [Dataset.Window] made of the components. window holds the components of an element
// of the windowed dataset, and d is the dataset before Window.
func (d *Dataset) ZipWindow(s *graph.Scope, window []tfbridge.Output) *Dataset {
	d = d.orNone()
	leaves := d.Spec().Leaves()
	if s.Err() == nil && len(window) != len(leaves) {
		s.UpdateErr("Dataset.ZipWindow", millrace.Errorf(millrace.ErrModel, "%d components of a window for elements of %d", len(window), len(leaves)))
	}
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	parts := make([]*Dataset, len(window))
	for i, component := range window {
		parts[i] = FromVariantOf(s, component, leaves[i])
	}
	if len(parts) == 1 {
		return parts[0].as(d.Spec())
	}
	return Zip(s, parts...).as(d.Spec())
}

// describe names a function in an error.
func describe(what, name string) string {
	return fmt.Sprintf("%s %q", what, name)
}

// Bind returns the components of an element in a graph as a T: a struct whose fields
// are named by tags such as `tf:"image"`, a map[string]V, a slice, or any of these
// within each other; with parts that are [tfbridge.Output], [graph.SparseTensor],
// [graph.RaggedTensor], [RaggedOutput] and, from windows, *Dataset. A struct may omit
// fields of the element; for a tuple its fields correspond by position. T may be any,
// too: then fields are a map[string]any and tuples a []any.
//
// A part that T cannot hold is a failure of the scope, and the result is the
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

// bindLeaf assigns a component to v.
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

// assign sets v to x if v's type can represent it.
func assign(v, x reflect.Value, t *Structure) error {
	if !x.Type().AssignableTo(v.Type()) {
		return millrace.Errorf(millrace.ErrModel, "%v cannot hold %v; use %v", v.Type(), t, x.Type())
	}
	v.Set(x)
	return nil
}
