package dataset

import (
	"reflect"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/elements"
	"millrace/tfbridge"
)

// FromRows returns a dataset of Go values: structs whose fields are named by tags such as
// `tf:"image"`, maps of one set of keys, slices, numbers, bools or strings, or any of these
// within each other. A slice of numbers or strings is a tensor; where its length differs
// from row to row that dimension is unknown, and a slice of slices whose lengths differ is
// a ragged tensor. A [Sparse] or [Ragged] must have the same rank in all rows. The rows
// become constants of the graph.
//
// It wraps TensorSliceDataset, and a map where lengths differ.
func FromRows[T any](s *graph.Scope, rows []T) *Dataset {
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	values := make([]reflect.Value, len(rows))
	for i := range rows {
		values[i] = reflect.ValueOf(&rows[i]).Elem()
	}
	c := &columns{flattener{s: s}}
	t, err := c.walk(reflect.TypeFor[T](), values)
	if err != nil {
		s.UpdateErr("FromRows", err)
	}
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	return c.slices("FromRows", t).dense()
}

// columns converts rows of Go values to leaves.
type columns struct{ flattener }

// walk adds the leaves of rows of one type.
func (c *columns) walk(t reflect.Type, rows []reflect.Value) (*Structure, error) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return c.indirect(t, rows)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[filler]()) {
		return c.joined(t, rows)
	}
	if isTensor(t) {
		return c.tensors(t, rows)
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.structs(t, rows)
	case reflect.Map:
		return c.maps(t, rows)
	}
	return nil, millrace.Errorf(millrace.ErrModel, "a %v cannot be part of a row", t)
}

// indirect adds the values of pointers and interfaces, which must be of one type.
func (c *columns) indirect(t reflect.Type, rows []reflect.Value) (*Structure, error) {
	var inner reflect.Type
	if t.Kind() == reflect.Pointer {
		inner = t.Elem()
	}
	held := make([]reflect.Value, len(rows))
	for i, row := range rows {
		if row.IsNil() {
			return nil, millrace.Errorf(millrace.ErrModel, "row %d has a nil %v", i, t)
		}
		held[i] = row.Elem()
		if inner != nil && held[i].Type() != inner {
			return nil, millrace.Errorf(millrace.ErrModel, "row %d has a %v, those before it a %v", i, held[i].Type(), inner)
		}
		inner = held[i].Type()
	}
	if inner == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "no row tells what a %v holds", t)
	}
	return c.walk(inner, held)
}

// structs adds the fields of structs, by name.
func (c *columns) structs(t reflect.Type, rows []reflect.Value) (*Structure, error) {
	fields, err := elements.SortedFields(t)
	if err != nil {
		return nil, err
	}
	tree := &Structure{Kind: KindFields}
	for _, f := range fields {
		column := make([]reflect.Value, len(rows))
		for i, row := range rows {
			column[i] = row.Field(f.Index)
		}
		part, err := c.walk(t.Field(f.Index).Type, column)
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrModel, "field %q: %w", f.Name, err)
		}
		tree.Keys, tree.Parts = append(tree.Keys, f.Name), append(tree.Parts, part)
	}
	return tree, nil
}

// maps adds the entries of maps, by key. All have the keys of the first.
func (c *columns) maps(t reflect.Type, rows []reflect.Value) (*Structure, error) {
	if t.Key().Kind() != reflect.String || len(rows) == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "%d rows of %v have no names for fields", len(rows), t)
	}
	tree := &Structure{Kind: KindFields}
	for _, key := range sortedKeys(rows[0]) {
		column := make([]reflect.Value, len(rows))
		for i, row := range rows {
			if column[i] = row.MapIndex(key); !column[i].IsValid() || row.Len() != rows[0].Len() {
				return nil, millrace.Errorf(millrace.ErrModel, "row %d has other keys than row 0", i)
			}
		}
		part, err := c.walk(t.Elem(), column)
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrModel, "entry %q: %w", key, err)
		}
		tree.Keys, tree.Parts = append(tree.Keys, key.String()), append(tree.Parts, part)
	}
	return tree, nil
}

// tensors adds a leaf of tensors: dense if they have one shape, otherwise ragged.
func (c *columns) tensors(t reflect.Type, rows []reflect.Value) (*Structure, error) {
	depth := 0
	for e := t; e.Kind() == reflect.Slice || e.Kind() == reflect.Array; e = e.Elem() {
		depth++
	}
	r := &raggedJoiner{splits: make([][]int64, depth), even: true, flat: reflect.MakeSlice(reflect.SliceOf(elemOf(t)), 0, len(rows))}
	for i := range r.splits {
		r.splits[i] = []int64{0}
	}
	for _, row := range rows {
		r.add(row, 0)
	}
	values, err := tfbridge.NewTensor(plainValue(r.flat).Interface())
	if err != nil {
		return nil, err
	}
	defer values.Close()
	leaf := leafValue{spec: RaggedSpec(values.DataType(), tfbridge.Shape{}, depth)}
	flat := c.s.Const(values)
	if r.even && len(rows) > 0 || depth == 0 {
		shape := []int64{int64(len(rows))}
		for _, splits := range r.splits {
			shape = append(shape, max(splits[min(1, len(splits)-1)], 0))
		}
		if depth > 0 {
			flat = graph.Reshape(c.s, flat, c.s.Const(shape))
		}
		leaf = leafValue{DenseSpec(values.DataType(), tfbridge.MakeShape(shape...)), []tfbridge.Output{flat}}
	} else {
		dims := []int64{int64(len(rows))}
		for _, splits := range r.splits {
			leaf.parts = append(leaf.parts, c.s.Const(splits))
			dims = append(dims, -1)
		}
		leaf.parts = append(leaf.parts, flat)
		leaf.spec.Spec.Shape = tfbridge.MakeShape(dims...)
	}
	c.leaves = append(c.leaves, leaf)
	return leaf.spec, c.s.Err()
}

// elemOf returns the type of the elements of slices within slices.
func elemOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t
}

// raggedJoiner joins slices of slices to the parts of a ragged tensor.
type raggedJoiner struct {
	splits [][]int64
	flat   reflect.Value
	even   bool // all slices at each depth have the same length
}

func (r *raggedJoiner) add(v reflect.Value, depth int) {
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		r.flat = reflect.Append(r.flat, v)
		return
	}
	s := r.splits[depth]
	r.even = r.even && (len(s) == 1 || int64(v.Len()) == s[1])
	r.splits[depth] = append(s, s[len(s)-1]+int64(v.Len()))
	for i := range v.Len() {
		r.add(v.Index(i), depth+1)
	}
}
