package dataset

import (
	"reflect"
	"slices"
	"strings"

	"millrace"
	"millrace/tfbridge"
)

// sortedKeys returns the keys of a map of strings.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// joiner is a [Sparse] or [Ragged], which joins to one of a rank more.
type joiner interface {
	join(rows []reflect.Value) (leafer, error)
}

// joined adds a leaf of sparse or ragged values.
func (c *columns) joined(t reflect.Type, rows []reflect.Value) (*Structure, error) {
	first := reflect.Zero(t)
	all, err := first.Interface().(joiner).join(rows)
	if err != nil {
		return nil, err
	}
	leaf, err := all.leaf(c.s)
	if err != nil {
		return nil, err
	}
	c.leaves = append(c.leaves, leaf)
	spec := *leaf.spec
	if leaf.spec.Kind == KindSparse {
		if spec.Spec.Shape, err = commonSparse(rows); err != nil {
			return nil, err
		}
	}
	return &spec, nil
}

// commonSparse returns what the shapes of sparse rows have in common.
func commonSparse(rows []reflect.Value) (tfbridge.Shape, error) {
	var both tfbridge.Shape
	for i, row := range rows {
		shape := tfbridge.MakeShape(row.FieldByName("Shape").Interface().([]int64)...)
		if i > 0 {
			shape = mostSpecific(both, shape)
		}
		both = shape
	}
	return prepended(int64(len(rows)), both), nil
}

// join returns rows as one sparse tensor of a rank more, as large as the
// largest.
func (x Sparse[T]) join(rows []reflect.Value) (leafer, error) {
	var all Sparse[T]
	for i, row := range rows {
		r := row.Interface().(Sparse[T])
		switch {
		case i == 0:
			all.Shape = append([]int64{int64(len(rows))}, r.Shape...)
		case len(r.Shape)+1 != len(all.Shape):
			return nil, millrace.Errorf(millrace.ErrModel, "row %d has %d dimensions, those before it %d", i, len(r.Shape), len(all.Shape)-1)
		}
		for axis, dim := range r.Shape {
			all.Shape[axis+1] = max(all.Shape[axis+1], dim)
		}
		for _, index := range r.Indices {
			all.Indices = append(all.Indices, append([]int64{int64(i)}, index...))
		}
		all.Values = append(all.Values, r.Values...)
	}
	if len(rows) == 0 {
		return nil, errNoRank(x)
	}
	return all, nil
}

// join returns rows as one ragged tensor of a rank more.
func (x Ragged[T]) join(rows []reflect.Value) (leafer, error) {
	if len(rows) == 0 {
		return nil, errNoRank(x)
	}
	var all Ragged[T]
	for i, row := range rows {
		r := row.Interface().(Ragged[T])
		if err := r.check(); err != nil {
			return nil, err
		}
		if i == 0 {
			all.Inner = r.Inner
			all.Splits = slices.Repeat([][]int64{{0}}, len(r.Splits)+1)
			for j := range all.Splits {
				all.Splits[j] = []int64{0}
			}
		}
		if len(r.Splits)+1 != len(all.Splits) || !slices.Equal(r.Inner, all.Inner) {
			return nil, millrace.Errorf(millrace.ErrModel, "row %d has another rank or shape of values than those before it", i)
		}
		all.Splits[0] = append(all.Splits[0], all.Splits[0][i]+int64(len(r.Splits[0])-1))
		for j, splits := range r.Splits {
			from := all.Splits[j+1][len(all.Splits[j+1])-1]
			for _, at := range splits[1:] {
				all.Splits[j+1] = append(all.Splits[j+1], from+at)
			}
		}
		all.Values = append(all.Values, r.Values...)
	}
	return all, nil
}

// errNoRank says that there are no rows of a sparse or ragged part.
func errNoRank(part any) error {
	return millrace.Errorf(millrace.ErrModel, "no row tells the rank of a %T", part)
}
