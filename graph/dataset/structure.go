package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Kind is the kind of a [Structure].
type Kind int

// The kinds of structures. A tuple is a list of parts of any kinds, and fields are
// named parts, as in a Python dict. The others are leaves: each is one component of an
// element's flat list.
const (
	KindDense   Kind = iota // a tensor
	KindSparse              // a sparse tensor, stored in a variant
	KindRagged              // a ragged tensor, stored in a variant
	KindDataset             // a dataset, stored in a variant; see [Dataset.Window]
	KindTuple
	KindFields
)

// Structure describes the elements of a dataset. It is an immutable tree, so many
// goroutines may use it.
type Structure struct {
	Kind       Kind
	Spec       graph.Spec        // dense, sparse or ragged leaf: the type of its values, and its shape with -1 where it varies
	RaggedRank int               // ragged leaf: the number of dimensions with row splits
	Splits     tfbridge.DataType // ragged leaf: the type of the row splits, Int32 or Int64
	Keys       []string          // fields: their names, sorted
	Parts      []*Structure      // tuple: its parts; fields: their parts in the order of Keys; dataset: the structure of its elements
}

// DenseSpec returns the structure of a tensor. The zero Shape leaves its shape
// open.
func DenseSpec(dtype tfbridge.DataType, shape tfbridge.Shape) *Structure {
	return &Structure{Kind: KindDense, Spec: graph.Spec{DType: dtype, Shape: shape}}
}

// SparseSpec returns the structure of a sparse tensor.
func SparseSpec(dtype tfbridge.DataType, shape tfbridge.Shape) *Structure {
	return &Structure{Kind: KindSparse, Spec: graph.Spec{DType: dtype, Shape: shape}}
}

// RaggedSpec returns the structure of a ragged tensor with row splits of Int64. Row
// splits separate its first rank+1 dimensions. With rank 0 it is a tensor in a variant,
// which becomes ragged when it is batched.
func RaggedSpec(dtype tfbridge.DataType, shape tfbridge.Shape, rank int) *Structure {
	return &Structure{
		Kind: KindRagged, Spec: graph.Spec{DType: dtype, Shape: shape},
		RaggedRank: rank, Splits: tfbridge.Int64,
	}
}

// TupleSpec returns the structure of a list of parts.
func TupleSpec(parts ...*Structure) *Structure {
	return &Structure{Kind: KindTuple, Parts: parts}
}

// FieldsSpec returns the structure of parts with names.
func FieldsSpec(parts map[string]*Structure) *Structure {
	t := &Structure{Kind: KindFields, Keys: slices.Sorted(maps.Keys(parts))}
	for _, key := range t.Keys {
		t.Parts = append(t.Parts, parts[key])
	}
	return t
}

// DatasetSpec returns the structure of a dataset of such elements.
func DatasetSpec(element *Structure) *Structure {
	return &Structure{Kind: KindDataset, Parts: []*Structure{element}}
}

// structureOf returns the structure of a flat list of tensors: of one tensor
// or a tuple of them.
func structureOf(specs []graph.Spec) *Structure {
	parts := make([]*Structure, len(specs))
	for i, p := range specs {
		parts[i] = DenseSpec(p.DType, p.Shape)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return TupleSpec(parts...)
}

// String returns for example
// "{image: uint8[?, 28, 28], words: ragged string[?, ?]}".
func (t *Structure) String() string {
	switch t.Kind {
	case KindSparse:
		return "sparse " + t.Spec.String()
	case KindRagged:
		return "ragged " + t.Spec.String()
	case KindDataset:
		return fmt.Sprintf("dataset %v", t.Parts[0])
	case KindTuple, KindFields:
		texts := make([]string, len(t.Parts))
		for i, part := range t.Parts {
			texts[i] = part.String()
			if t.Kind == KindFields {
				texts[i] = t.Keys[i] + ": " + texts[i]
			}
		}
		if t.Kind == KindFields {
			return "{" + strings.Join(texts, ", ") + "}"
		}
		return "(" + strings.Join(texts, ", ") + ")"
	}
	return t.Spec.String()
}

// leaf reports whether t is one component.
func (t *Structure) leaf() bool {
	return t.Kind != KindTuple && t.Kind != KindFields
}

// Leaves returns the leaves of t from left to right, one for each component.
func (t *Structure) Leaves() []*Structure {
	if t.leaf() {
		return []*Structure{t}
	}
	var leaves []*Structure
	for _, part := range t.Parts {
		leaves = append(leaves, part.Leaves()...)
	}
	return leaves
}

// Specs returns the types and shapes of the components: a leaf that is not dense is a
// variant, whose shape depends on how it was made.
func (t *Structure) Specs() []graph.Spec {
	leaves := t.Leaves()
	specs := make([]graph.Spec, len(leaves))
	for i, leaf := range leaves {
		switch leaf.Kind {
		case KindDense:
			specs[i] = leaf.Spec
		case KindDataset:
			specs[i] = graph.Spec{DType: tfbridge.Variant, Shape: tfbridge.ScalarShape()}
		default:
			specs[i] = graph.Spec{DType: tfbridge.Variant}
		}
	}
	return specs
}

// check reports an impossible structure: nil parts, or a rank that the shape does not
// have. Trees from other packages are checked on entry.
func (t *Structure) check() error {
	switch {
	case t == nil:
		return millrace.Errorf(millrace.ErrModel, "a part of the structure is nil")
	case t.Kind == KindFields && len(t.Keys) != len(t.Parts):
		return millrace.Errorf(millrace.ErrModel, "%d names for %d fields", len(t.Keys), len(t.Parts))
	case t.Kind == KindFields && !slices.IsSorted(t.Keys):
		return millrace.Errorf(millrace.ErrModel, "the fields %q are not sorted", t.Keys)
	case t.Kind == KindDataset && len(t.Parts) != 1:
		return millrace.Errorf(millrace.ErrModel, "a dataset has one structure of elements, not %d", len(t.Parts))
	case t.Kind == KindRagged && (t.RaggedRank < 0 || t.Splits != tfbridge.Int64 && t.Splits != tfbridge.Int32):
		return millrace.Errorf(millrace.ErrModel, "a ragged part of rank %d with splits of %v", t.RaggedRank, t.Splits)
	case t.Kind < KindDense || t.Kind > KindFields:
		return millrace.Errorf(millrace.ErrModel, "no structure has kind %d", t.Kind)
	}
	for _, part := range t.Parts {
		if err := part.check(); err != nil {
			return err
		}
	}
	return nil
}

// mapLeaves returns t with other leaves.
func (t *Structure) mapLeaves(fn func(leaf *Structure) (*Structure, error)) (*Structure, error) {
	if t.leaf() {
		return fn(t)
	}
	mapped := &Structure{Kind: t.Kind, Keys: t.Keys, Parts: make([]*Structure, len(t.Parts))}
	for i, part := range t.Parts {
		var err error
		if mapped.Parts[i], err = part.mapLeaves(fn); err != nil {
			return nil, err
		}
	}
	return mapped, nil
}

// batched returns the structure of batches of n elements, -1 of any number. Sparse and
// ragged leaves get one more dimension, as dense ones do.
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

// common returns the most specific structure that describes both t and other.
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

// onlyDense reports whether every leaf is a dense tensor, so that every component is
// the tensor itself.
func (t *Structure) onlyDense() bool {
	for _, leaf := range t.Leaves() {
		if leaf.Kind != KindDense {
			return false
		}
	}
	return true
}
