package dataset

import (
	"fmt"
	"reflect"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/elements"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// flattener splits a Go value into leaves, in a graph.
type flattener struct {
	s      *graph.Scope
	leaves []leafValue
}

// leafValue is a leaf and its tensors.
type leafValue struct {
	spec  *Structure
	parts []tfbridge.Output
}

// leafer is a Go value that is one leaf: [Sparse] and [Ragged].
type leafer interface {
	leaf(s *graph.Scope) (leafValue, error)
}

// Flatten returns the components of a Go value in a graph, and their structure. It is the
// reverse of [Bind], and accepts Bind's results. Parts may also be Go values, which become
// constants: values for [tfbridge.NewTensor], *tfbridge.Tensor, [Sparse] and [Ragged]. A
// slice of structs, maps, slices of any or outputs is a tuple, other slices are tensors.
//
// A value that cannot be in an element is a failure of the scope, which has the
// components of [Dataset.Specs] of a failed dataset. It wraps
// SerializeSparse and RaggedTensorToVariant.
func Flatten(s *graph.Scope, value any) ([]tfbridge.Output, *Structure) {
	f := &flattener{s: s}
	t := f.value(value)
	if t == nil {
		return unbuilt.Outputs(unbuilt.Many), structureOf(unbuilt.Specs())
	}
	return f.components(false), t
}

// value splits a value; the result is nil after a failure.
func (f *flattener) value(value any) *Structure {
	if f.s.Err() != nil {
		return nil
	}
	t, err := f.walk(reflect.ValueOf(value))
	if err != nil {
		f.s.UpdateErr(fmt.Sprintf("element from a %T", value), err)
	}
	if f.s.Err() != nil {
		return nil
	}
	return t
}

// components returns the components of the leaves.
func (f *flattener) components(batched bool) []tfbridge.Output {
	components := make([]tfbridge.Output, len(f.leaves))
	for i, leaf := range f.leaves {
		components[i] = leaf.spec.component(f.s, leaf.parts, batched)
	}
	return components
}

// walk adds the leaves of v.
func (f *flattener) walk(v reflect.Value) (*Structure, error) {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, millrace.Errorf(millrace.ErrModel, "a part is nil")
	}
	if leaf, ok, err := f.leaf(v); ok || err != nil {
		if err == nil {
			f.leaves = append(f.leaves, leaf)
		}
		return leaf.spec, err
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, millrace.Errorf(millrace.ErrModel, "a %v is nil", v.Type())
		}
		return f.walk(v.Elem())
	case reflect.Struct:
		return f.fields(v)
	case reflect.Map:
		return f.entries(v)
	case reflect.Slice, reflect.Array:
		t := TupleSpec()
		for i := range v.Len() {
			part, err := f.walk(v.Index(i))
			if err != nil {
				return nil, err
			}
			t.Parts = append(t.Parts, part)
		}
		return t, nil
	}
	return nil, millrace.Errorf(millrace.ErrModel, "a %v cannot be part of an element", v.Type())
}

// fields adds the fields of a struct, by name.
func (f *flattener) fields(v reflect.Value) (*Structure, error) {
	fields, err := elements.SortedFields(v.Type())
	if err != nil {
		return nil, err
	}
	t := &Structure{Kind: KindFields}
	for _, field := range fields {
		part, err := f.walk(v.Field(field.Index))
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrModel, "field %q: %w", field.Name, err)
		}
		t.Keys, t.Parts = append(t.Keys, field.Name), append(t.Parts, part)
	}
	return t, nil
}

// entries adds the entries of a map, by key.
func (f *flattener) entries(v reflect.Value) (*Structure, error) {
	if v.Type().Key().Kind() != reflect.String || v.Len() == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "a %v of %d entries cannot be part of an element", v.Type(), v.Len())
	}
	t := &Structure{Kind: KindFields}
	for _, key := range sortedKeys(v) {
		part, err := f.walk(v.MapIndex(key))
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrModel, "entry %q: %w", key, err)
		}
		t.Keys, t.Parts = append(t.Keys, key.String()), append(t.Parts, part)
	}
	return t, nil
}

// leaf converts v to a leaf; the bool is false if v is not a leaf.
func (f *flattener) leaf(v reflect.Value) (leafValue, bool, error) {
	switch x := v.Interface().(type) {
	case tfbridge.Output:
		return f.dense(x)
	case graph.SparseTensor:
		return f.sparse(x)
	case graph.RaggedTensor:
		return f.ragged(RaggedOutput{Splits: []tfbridge.Output{x.RowSplits}, Values: x.Values})
	case RaggedOutput:
		return f.ragged(x)
	case *Dataset:
		if !usable(f.s, "element", x) {
			return leafValue{}, true, f.s.Err()
		}
		return leafValue{DatasetSpec(x.Spec()), []tfbridge.Output{x.variant}}, true, nil
	case *tfbridge.Tensor:
		if x == nil {
			return leafValue{}, true, millrace.Errorf(millrace.ErrModel, "a *tfbridge.Tensor is nil")
		}
		return f.dense(f.s.Const(x))
	case leafer:
		leaf, err := x.leaf(f.s)
		return leaf, true, err
	}
	if !isTensor(v.Type()) {
		return leafValue{}, false, nil
	}
	return f.dense(f.s.Const(plainValue(v).Interface()))
}

func (f *flattener) dense(x tfbridge.Output) (leafValue, bool, error) {
	if x.Op == nil {
		return leafValue{}, true, f.failure("an output is not set")
	}
	p := graph.SpecOf(x)
	return leafValue{DenseSpec(p.DType, p.Shape), []tfbridge.Output{x}}, true, nil
}

func (f *flattener) sparse(x graph.SparseTensor) (leafValue, bool, error) {
	if x.Indices.Op == nil || x.Values.Op == nil || x.Shape.Op == nil {
		return leafValue{}, true, f.failure("a part of a sparse tensor is not set")
	}
	shape := tfbridge.Shape{}
	if rank := x.Shape.Shape().Size(0); rank >= 0 {
		shape = tfbridge.MakeShape(slices.Repeat([]int64{-1}, int(rank))...)
	}
	return leafValue{SparseSpec(x.Values.DataType(), shape), []tfbridge.Output{x.Indices, x.Values, x.Shape}}, true, nil
}

func (f *flattener) ragged(x RaggedOutput) (leafValue, bool, error) {
	if x.Values.Op == nil || slices.ContainsFunc(x.Splits, func(o tfbridge.Output) bool { return o.Op == nil }) {
		return leafValue{}, true, f.failure("a part of a ragged tensor is not set")
	}
	shape := tfbridge.Shape{}
	if dims, err := x.Values.Shape().ToSlice(); err == nil && len(dims) > 0 && len(x.Splits) > 0 {
		rows := x.Splits[0].Shape().Size(0)
		shape = tfbridge.MakeShape(append(append([]int64{max(rows-1, -1)}, slices.Repeat([]int64{-1}, len(x.Splits))...), dims[1:]...)...)
	}
	spec := RaggedSpec(x.Values.DataType(), shape, len(x.Splits))
	if len(x.Splits) > 0 {
		spec.Splits = x.Splits[0].DataType()
	}
	return leafValue{spec, append(slices.Clone(x.Splits), x.Values)}, true, nil
}

// failure returns the error about an output that is not set: the scope's, if the scope
// failed before.
func (f *flattener) failure(text string) error {
	if err := f.s.Err(); err != nil {
		return err
	}
	return millrace.Errorf(millrace.ErrModel, "%s", text)
}

// isTensor reports whether values of a type are tensors: numbers, bools, strings, and
// slices and arrays of these.
func isTensor(t reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	}
	return false
}
