package dataset

import (
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// RaggedBatch stacks every n elements, whose shapes may differ: a tensor with
// unknown dimensions becomes ragged, and ragged ones have one rank more. It
// wraps RaggedTensorToVariant and BatchDatasetV2.
func (d *Dataset) RaggedBatch(n int64, drop bool) *Dataset {
	d = d.orNone()
	return d.ragged().Batch(n, drop)
}

// ragged returns d with tensors that have unknown dimensions as ragged ones.
func (d *Dataset) ragged() *Dataset {
	if d.scope.Err() != nil {
		return d
	}
	before := d.Spec().Leaves()
	after, err := d.Spec().mapLeaves(func(leaf *Structure) (*Structure, error) {
		if rank := leaf.raggedRank(); rank >= 0 {
			return RaggedSpec(leaf.Spec.DType, leaf.Spec.Shape, rank), nil
		}
		return leaf, nil
	})
	if err != nil {
		return d.fail("Dataset.RaggedBatch", "%w", err)
	}
	return d.Map("ragged", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		for i, leaf := range before {
			if rank := leaf.raggedRank(); rank >= 0 {
				args[i] = raggedFrom(s, args[i], rank)
			}
		}
		return args
	}, nil).as(after)
}

// raggedRank returns the rank that a tensor has as a ragged one, -1 if it stays
// a tensor: the last of its dimensions that is unknown.
func (t *Structure) raggedRank() int {
	rank := -1
	if t.Kind != KindDense {
		return rank
	}
	for axis := range t.Spec.Shape.NumDimensions() {
		if t.Spec.Shape.Size(axis) < 0 {
			rank = axis
		}
	}
	return rank
}

// raggedFrom returns a tensor as the variant of a ragged one.
func raggedFrom(s *graph.Scope, x tfbridge.Output, rank int) tfbridge.Output {
	leaf := RaggedSpec(x.DataType(), tfbridge.Shape{}, rank)
	if rank == 0 {
		return leaf.component(s, []tfbridge.Output{x}, false)
	}
	// Every row is as long as the others: the splits are multiples.
	shape := graph.Cast(s, graph.Shape(s, x), tfbridge.Int64)
	rows, zero, one := s.Const(int64(1)), s.Const(int64(0)), s.Const(int64(1))
	var parts []tfbridge.Output
	for axis := range rank {
		rows = graph.Mul(s, rows, graph.Subscript(s, shape, graph.At(int64(axis))))
		width := graph.Subscript(s, shape, graph.At(int64(axis)+1))
		numbers := graph.Range(s, zero, graph.Add(s, rows, one), one)
		parts = append(parts, graph.Mul(s, numbers, width))
	}
	inner := graph.Subscript(s, shape, graph.From(int64(rank)+1))
	rows = graph.Mul(s, rows, graph.Subscript(s, shape, graph.At(int64(rank))))
	flat := graph.Reshape(s, x, graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, rows, 0), inner}, 0))
	return leaf.component(s, append(parts, flat), false)
}

// SparseBatch stacks every n elements, tensors that need not be equally large,
// to sparse ones: shape is that of the largest, -1 in a dimension for the
// largest of the batch. There must be one component. The last batch may have
// fewer. It wraps DenseToSparseBatchDataset.
func (d *Dataset) SparseBatch(n int64, shape []int64) *Dataset {
	d = d.orNone()
	limit.Between(1, limit.WholeBatch).Check(d.scope, "Dataset.SparseBatch: size", n)
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	if len(d.specs) != 1 || d.Spec().Kind != KindDense {
		return d.fail("Dataset.SparseBatch", "elements are %v, must be one tensor", d.Spec())
	}
	p := d.specs[0]
	if have := p.Shape.NumDimensions(); have != len(shape) {
		return d.fail("Dataset.SparseBatch", "elements are %v, the shape has %d dimensions", p, len(shape))
	}
	for axis, dim := range shape {
		if dim < -1 || dim >= 0 && p.Shape.Size(axis) > dim {
			return d.fail("Dataset.SparseBatch", "elements are %v, the shape is %v", p, shape)
		}
	}
	specs := []graph.Spec{{DType: tfbridge.Variant}}
	return d.then("DenseToSparseBatchDataset", specs, nil, d.scope.Const(n), d.scope.Const(append([]int64{}, shape...))).
		as(SparseSpec(p.DType, tfbridge.MakeShape(append([]int64{-1}, shape...)...)))
}
