package dataset

import (
	"reflect"
	"slices"
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// FromValue returns a dataset of one element, a Go value for [Flatten]. It wraps
// TensorDataset.
func FromValue(s *graph.Scope, value any) *Dataset {
	components, t := Flatten(s, value)
	if !someLeaves(s, "FromValue", t) {
		return &Dataset{scope: s}
	}
	specs := t.Specs()
	return made(s, specs, s.Op1("TensorDataset",
		map[string]any{"output_shapes": graph.Shapes(specs)}, tfbridge.OutputList(components))).as(t)
}

// FromColumns returns a dataset of the slices of a Go value's parts along their first
// dimension, which must have the same size in all parts. A struct of slices becomes a
// dataset of structs. Values are as for [Flatten]. The slices of a [Sparse] are sparse, and
// the slices of a [Ragged] have one ragged dimension less. It wraps TensorSliceDataset.
func FromColumns(s *graph.Scope, columns any) *Dataset {
	f := &flattener{s: s}
	t := f.value(columns)
	if t == nil || !someLeaves(s, "FromColumns", t) {
		return &Dataset{scope: s}
	}
	return f.slices("FromColumns", t)
}

// slices returns the dataset of the leaves' slices.
func (f *flattener) slices(what string, t *Structure) *Dataset {
	s := f.s
	rows, err := t.sliced()
	if err == nil {
		err = f.oneSize()
	}
	if err != nil {
		s.UpdateErr(what, err)
		return &Dataset{scope: s}
	}
	specs := rows.Specs()
	d := made(s, specs, s.Op1("TensorSliceDataset",
		map[string]any{"output_shapes": graph.Shapes(specs)}, tfbridge.OutputList(f.components(true))))
	return d.as(rows)
}

// oneSize reports an error if first dimensions are known to differ.
func (f *flattener) oneSize() error {
	size := int64(-1)
	for i, leaf := range f.leaves {
		n := leaf.spec.Spec.Shape.Size(0)
		if leaf.spec.Spec.Shape.NumDimensions() < 0 || n < 0 {
			continue
		}
		if size >= 0 && n != size {
			return millrace.Errorf(millrace.ErrModel, "component %d has %d rows, those before it %d", i, n, size)
		}
		size = n
	}
	return nil
}

// someLeaves reports an error for a structure without components.
func someLeaves(s *graph.Scope, what string, t *Structure) bool {
	if s.Err() == nil && len(t.Leaves()) == 0 {
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "the value has no parts"))
	}
	return s.Err() == nil
}

// dense returns d with the parts of ragged rank 0 converted to tensors. Such parts are
// tensors inside of variants.
func (d *Dataset) dense() *Dataset {
	if d.scope.Err() != nil {
		return d
	}
	found := false
	after, err := d.Spec().mapLeaves(func(leaf *Structure) (*Structure, error) {
		if leaf.Kind == KindRagged && leaf.RaggedRank == 0 {
			found = true
			return DenseSpec(leaf.Spec.DType, leaf.Spec.Shape), nil
		}
		return leaf, nil
	})
	if err != nil || !found {
		return d
	}
	leaves := d.Spec().Leaves()
	return d.Map("dense", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		for i, leaf := range leaves {
			if leaf.Kind == KindRagged && leaf.RaggedRank == 0 {
				if parts := leaf.parts(s, args[i]); len(parts) == 1 {
					args[i] = parts[0]
				}
			}
		}
		return args
	}, nil).as(after)
}

// sortedKeys returns the keys of a map of strings.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// joiner is a [Sparse] or [Ragged], which can be stacked.
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

// commonSparse returns the most specific shape that all sparse rows have.
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

// join stacks rows to a sparse tensor of one more rank, as large as the largest row.
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

// join stacks rows to a ragged tensor of one more rank.
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

// errNoRank is the error about a sparse or ragged part without rows.
func errNoRank(part any) error {
	return millrace.Errorf(millrace.ErrModel, "no row tells the rank of a %T", part)
}
