package dataset

import (
	"reflect"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Sparse is a sparse tensor in Go: the non-zero values, their indices, and the shape of
// the whole tensor.
type Sparse[T any] struct {
	Indices [][]int64 // index of each value, in row-major order
	Values  []T
	Shape   []int64
}

// check returns an error if the indices do not match x's values or lie outside its
// shape.
func (x Sparse[T]) check() error {
	if len(x.Indices) != len(x.Values) || len(x.Shape) == 0 {
		return millrace.Errorf(millrace.ErrModel,
			"a sparse tensor has %d indices, %d values and %d dimensions", len(x.Indices), len(x.Values), len(x.Shape))
	}
	for i, index := range x.Indices {
		inside := len(index) == len(x.Shape)
		for axis := 0; inside && axis < len(index); axis++ {
			inside = index[axis] >= 0 && index[axis] < x.Shape[axis]
		}
		if !inside {
			return millrace.Errorf(millrace.ErrModel, "index %d of a sparse tensor is %v, its shape %v", i, index, x.Shape)
		}
	}
	return nil
}

// leaf returns x as constants.
func (x Sparse[T]) leaf(s *graph.Scope) (leafValue, error) {
	if err := x.check(); err != nil {
		return leafValue{}, err
	}
	flat := slices.Concat(x.Indices...)
	indices := constant(s, flat, int64(len(x.Indices)), int64(len(x.Shape)))
	values := constant(s, x.Values, int64(len(x.Values)))
	if err := s.Err(); err != nil {
		return leafValue{}, err
	}
	spec := SparseSpec(values.DataType(), tfbridge.MakeShape(x.Shape...))
	return leafValue{spec, []tfbridge.Output{indices, values, s.Const(slices.Clone(x.Shape))}}, nil
}

// fill sets x to a sparse component's tensors.
func (x *Sparse[T]) fill(t *Structure, tensors []*tfbridge.Tensor) error {
	if t.Kind != KindSparse {
		return errMisfit(reflect.TypeFor[Sparse[T]](), t)
	}
	places, err := tfbridge.View[int64](tensors[0])
	if err != nil {
		return err
	}
	if err := scan(&x.Values, tensors[1], t); err != nil {
		return err
	}
	if err := scan(&x.Shape, tensors[2], t); err != nil {
		return err
	}
	rank := len(x.Shape)
	places = slices.Clone(places)
	x.Indices = make([][]int64, len(x.Values))
	for i := range x.Indices {
		x.Indices[i] = places[i*rank : (i+1)*rank : (i+1)*rank]
	}
	return nil
}

// Ragged is a ragged tensor in Go: nested rows of different lengths, stored as the joined
// values and the splits between rows.
type Ragged[T any] struct {
	Splits [][]int64 // from the outermost dimension inwards: the start of each row, and the end of the last
	Values []T
	Inner  []int64 // the shape of a value; nil: a scalar
}

// RaggedRows returns rows as a ragged tensor.
func RaggedRows[T any](rows [][]T) Ragged[T] {
	splits := make([]int64, 1, len(rows)+1)
	for _, row := range rows {
		splits = append(splits, splits[len(splits)-1]+int64(len(row)))
	}
	return Ragged[T]{Splits: [][]int64{splits}, Values: slices.Concat(rows...)}
}

// leaf returns x as constants.
func (x Ragged[T]) leaf(s *graph.Scope) (leafValue, error) {
	if err := x.check(); err != nil {
		return leafValue{}, err
	}
	var parts []tfbridge.Output
	dims := []int64{int64(len(x.Splits[0]) - 1)}
	for _, splits := range x.Splits {
		parts = append(parts, s.Const(slices.Clone(splits)))
		dims = append(dims, -1)
	}
	rows := x.Splits[len(x.Splits)-1]
	values := constant(s, x.Values, append([]int64{rows[len(rows)-1]}, x.Inner...)...)
	if err := s.Err(); err != nil {
		return leafValue{}, err
	}
	spec := RaggedSpec(values.DataType(), tfbridge.MakeShape(append(dims, x.Inner...)...), len(x.Splits))
	return leafValue{spec, append(parts, values)}, nil
}

// check returns an error for invalid splits.
func (x Ragged[T]) check() error {
	if len(x.Splits) == 0 {
		return millrace.Errorf(millrace.ErrModel, "a ragged tensor has no splits")
	}
	rows := int64(len(x.Values))
	for _, dim := range x.Inner {
		if dim < 0 {
			return millrace.Errorf(millrace.ErrModel, "values of a ragged tensor have shape %v", x.Inner)
		}
		if dim > 0 && rows%dim == 0 {
			rows /= dim
		} else {
			rows = 0
		}
	}
	for i := len(x.Splits) - 1; i >= 0; i-- {
		splits := x.Splits[i]
		if len(splits) == 0 || splits[0] != 0 || !slices.IsSorted(splits) || splits[len(splits)-1] != rows {
			return millrace.Errorf(millrace.ErrModel, "splits %d of a ragged tensor are not from 0 to its %d rows", i, rows)
		}
		rows = int64(len(splits) - 1)
	}
	return nil
}

// fill sets x to a ragged component's tensors.
func (x *Ragged[T]) fill(t *Structure, tensors []*tfbridge.Tensor) error {
	if t.Kind != KindRagged || t.RaggedRank == 0 {
		return errMisfit(reflect.TypeFor[Ragged[T]](), t)
	}
	last := len(tensors) - 1
	x.Splits = make([][]int64, last)
	for i := range x.Splits {
		var err error
		if x.Splits[i], err = splitsOf(tensors[i]); err != nil {
			return err
		}
	}
	if shape := tensors[last].Shape(); len(shape) > 1 {
		x.Inner = shape[1:]
	}
	return scanFlat(&x.Values, tensors[last], t)
}

// splitsOf returns row splits of either type.
func splitsOf(t *tfbridge.Tensor) ([]int64, error) {
	if t.DataType() == tfbridge.Int64 {
		splits, err := tfbridge.View[int64](t)
		return slices.Clone(splits), err
	}
	narrow, err := tfbridge.View[int32](t)
	splits := make([]int64, len(narrow))
	for i, at := range narrow {
		splits[i] = int64(at)
	}
	return splits, err
}

// constant adds a constant of a shape.
func constant[T any](s *graph.Scope, data []T, shape ...int64) tfbridge.Output {
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	t, err := tensorOf(data, shape)
	if err != nil {
		s.UpdateErr("constant", err)
		return tfbridge.Output{}
	}
	defer t.Close()
	return s.Const(t)
}

// tensorOf returns data as a tensor of a shape.
func tensorOf[T any](data []T, shape []int64) (*tfbridge.Tensor, error) {
	switch data := any(data).(type) {
	case []string:
		return tfbridge.NewStringTensor(shape, data)
	case [][]byte:
		return tfbridge.NewStringTensor(shape, data)
	case []int:
		return tfbridge.NewTensorFromSlice(shape, plainValue(reflect.ValueOf(data)).Interface().([]int64))
	}
	return tfbridge.NewTensorFromSlice(shape, data)
}
