package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// FromValue returns a dataset of one element, a Go value as [Flatten] takes
// it. It wraps TensorDataset.
func FromValue(s *graph.Scope, value any) *Dataset {
	components, t := Flatten(s, value)
	if !someLeaves(s, "FromValue", t) {
		return &Dataset{scope: s}
	}
	specs := t.Specs()
	return made(s, specs, s.Op1("TensorDataset",
		map[string]any{"output_shapes": graph.Shapes(specs)}, tfbridge.OutputList(components))).as(t)
}

// FromColumns returns a dataset of the slices of a Go value's parts along their
// first dimension, which must be of one size: of a struct of slices, the
// structs of their elements. Values are as for [Flatten]; of a [Sparse] the
// slices are sparse, of a [Ragged] one dimension less ragged. It wraps
// TensorSliceDataset.
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

// oneSize reports first dimensions that are known to differ.
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

// someLeaves reports a structure without components.
func someLeaves(s *graph.Scope, what string, t *Structure) bool {
	if s.Err() == nil && len(t.Leaves()) == 0 {
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "the value has no parts"))
	}
	return s.Err() == nil
}

// dense returns d with the parts that are ragged of rank 0, which are tensors
// in variants, as tensors.
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
