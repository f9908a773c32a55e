package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// batched returns the structure of batches of n elements, -1 of any number. A
// part of a sparse or ragged leaf has one dimension more, and so has the leaf.
func (t *Structure) batched(n int64) (*Structure, error) {
	return t.mapLeaves(func(leaf *Structure) (*Structure, error) {
		if leaf.Kind == KindDataset {
			return nil, millrace.Errorf(millrace.ErrModel, "datasets cannot be batched, elements are %v", t)
		}
		more := *leaf
		more.Spec.Shape = prepended(n, leaf.Spec.Shape)
		if leaf.Kind == KindRagged {
			more.RaggedRank++
		}
		return &more, nil
	})
}

// sliced returns the structure of the slices of elements along their first
// dimension.
func (t *Structure) sliced() (*Structure, error) {
	i := -1
	return t.mapLeaves(func(leaf *Structure) (*Structure, error) {
		i++
		less := *leaf
		switch rank := leaf.Spec.Shape.NumDimensions(); {
		case leaf.Kind == KindDataset, leaf.Kind == KindRagged && leaf.RaggedRank == 0:
			return nil, millrace.Errorf(millrace.ErrModel, "component %d is a %v and has no slices", i, leaf)
		case rank == 0:
			return nil, millrace.Errorf(millrace.ErrModel, "component %d is a scalar and has no slices", i)
		case rank == 1 && leaf.Kind == KindSparse:
			return nil, millrace.Errorf(millrace.ErrModel, "component %d is a %v, whose slices would be sparse scalars", i, leaf)
		case rank > 0:
			dims, err := leaf.Spec.Shape.ToSlice()
			if err != nil {
				return nil, err
			}
			less.Spec.Shape = tfbridge.MakeShape(dims[1:]...)
		}
		if leaf.Kind == KindRagged {
			less.RaggedRank--
		}
		return &less, nil
	})
}

// prepended returns a shape with one more dimension in front.
func prepended(n int64, shape tfbridge.Shape) tfbridge.Shape {
	dims, err := shape.ToSlice()
	if err != nil {
		return tfbridge.Shape{}
	}
	return tfbridge.MakeShape(append([]int64{n}, dims...)...)
}

// common returns the structure that says of both t and other no more than is
// true.
func (t *Structure) common(other *Structure) (*Structure, error) {
	if t.Kind != other.Kind || len(t.Parts) != len(other.Parts) || t.leaf() && t.Spec.DType != other.Spec.DType {
		return nil, millrace.Errorf(millrace.ErrModel, "%v and %v are not alike", t, other)
	}
	both := &Structure{
		Kind: t.Kind, Keys: t.Keys, RaggedRank: t.RaggedRank, Splits: t.Splits,
		Spec: graph.Spec{DType: t.Spec.DType, Shape: mostSpecific(t.Spec.Shape, other.Spec.Shape)},
	}
	if t.Kind == KindRagged && (t.RaggedRank != other.RaggedRank || t.Splits != other.Splits) {
		return nil, millrace.Errorf(millrace.ErrModel, "%v and %v differ in ragged rank or splits", t, other)
	}
	for i := range t.Keys {
		if t.Keys[i] != other.Keys[i] {
			return nil, millrace.Errorf(millrace.ErrModel, "%v and %v have other fields", t, other)
		}
	}
	for i := range t.Parts {
		part, err := t.Parts[i].common(other.Parts[i])
		if err != nil {
			return nil, err
		}
		both.Parts = append(both.Parts, part)
	}
	return both, nil
}

// onlyDense tells whether every leaf is a tensor, so that components are what
// they seem to be.
func (t *Structure) onlyDense() bool {
	for _, leaf := range t.Leaves() {
		if leaf.Kind != KindDense {
			return false
		}
	}
	return true
}
