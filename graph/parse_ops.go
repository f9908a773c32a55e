package graph

import (
	"millrace/tfbridge"
)

// ParseExampleV2 adds a ParseExampleV2: it parses a vector of serialized
// Examples at once, so that every dense result has one more dimension in front.
func ParseExampleV2(s *Scope, serialized tfbridge.Output, f *ExampleFeatures) *ParsedExample {
	return f.parseV2(s, serialized, "ParseExampleV2")
}

// parseV2 adds a ParseExampleV2 of a vector of Examples, or of one Example.
func (f *ExampleFeatures) parseV2(s *Scope, serialized tfbridge.Output, what string) *ParsedExample {
	f = f.checked(s, what)
	values, splits := f.RaggedTypes()
	outputs := s.Op("ParseExampleV2", map[string]any{
		"Tdense":             DTypes(f.DenseSpecs()),
		"dense_shapes":       Shapes(f.DenseSpecs()),
		"num_sparse":         int64(len(f.Sparse)),
		"sparse_types":       f.SparseTypes(),
		"ragged_value_types": values,
		"ragged_split_types": splits,
	}, serialized, f.names(s),
		s.Const(f.SparseKeys()), s.Const(f.DenseKeys()), s.Const(f.RaggedKeys()), f.DenseDefaults(s))
	return f.parsed(&taker{outputs})
}

// names returns the names for messages, or a constant of none.
func (f *ExampleFeatures) names(s *Scope) tfbridge.Output {
	if f.ExampleNames.Op != nil {
		return f.ExampleNames
	}
	return s.Const([]string{})
}

// ParseSingleExample adds a ParseSingleExample: it parses one serialized
// Example. Ragged features need [ParseExampleV2].
//
// Its kernel takes no names. With f.ExampleNames, a scalar, it adds a ParseExampleV2 of
// a vector of the one record instead: for a scalar record that kernel does not report
// the name.
func ParseSingleExample(s *Scope, serialized tfbridge.Output, f *ExampleFeatures) *ParsedExample {
	if f != nil && f.ExampleNames.Op != nil && len(f.Ragged) == 0 {
		rows := *f
		rows.ExampleNames = ExpandDims(s, f.ExampleNames, 0)
		return rows.parseV2(s, ExpandDims(s, serialized, 0), "ParseSingleExample").only(s)
	}
	f = f.checked(s, "ParseSingleExample")
	if len(f.Ragged) > 0 {
		s.fail("ParseSingleExample", "ragged features need ParseExampleV2")
	}
	outputs := s.Op("ParseSingleExample", map[string]any{
		"dense_keys":   f.DenseKeys(),
		"Tdense":       DTypes(f.DenseSpecs()),
		"dense_shapes": Shapes(f.DenseSpecs()),
		"num_sparse":   int64(len(f.Sparse)),
		"sparse_keys":  f.SparseKeys(),
		"sparse_types": f.SparseTypes(),
	}, serialized, f.DenseDefaults(s))
	return f.parsed(&taker{outputs})
}

// checked reports invalid features as the scope's failure. It returns f, or no features
// if f is nil.
func (f *ExampleFeatures) checked(s *Scope, op string) *ExampleFeatures {
	if f == nil {
		s.fail(op, "the features are nil")
		return &ExampleFeatures{}
	}
	s.UpdateErr(op, f.Check())
	return f
}

// parsed sorts the outputs of a parsing operation, which come group by group.
// Without outputs, after a failure, all parts are zero Outputs.
func (f *ExampleFeatures) parsed(from *taker) *ParsedExample {
	p := &ParsedExample{Sparse: from.sparse(len(f.Sparse)), Dense: from.next(len(f.Dense))}
	values, splits := from.next(len(f.Ragged)), from.next(len(f.Ragged))
	for i := range values {
		p.Ragged = append(p.Ragged, RaggedTensor{Values: values[i], RowSplits: splits[i]})
	}
	return p
}

// only returns the results for the one record of a batch of size 1.
func (p *ParsedExample) only(s *Scope) *ParsedExample {
	for i, dense := range p.Dense {
		p.Dense[i] = Squeeze(s, dense, 0)
	}
	for i, sparse := range p.Sparse {
		p.Sparse[i].Indices = Slice(s, sparse.Indices, s.Const([]int64{0, 1}), s.Const([]int64{-1, -1}))
		p.Sparse[i].Shape = Slice(s, sparse.Shape, s.Const([]int64{1}), s.Const([]int64{-1}))
	}
	return p
}

// taker hands out the outputs of an operation from the front.
type taker struct {
	rest []tfbridge.Output
}

// next returns the next n outputs, zero ones where there are none left.
func (t *taker) next(n int) []tfbridge.Output {
	taken := make([]tfbridge.Output, n)
	t.rest = t.rest[copy(taken, t.rest):]
	return taken
}

// sparse returns n sparse tensors: all indices come first, then all values,
// then all shapes.
func (t *taker) sparse(n int) []SparseTensor {
	indices, values, shapes := t.next(n), t.next(n), t.next(n)
	tensors := make([]SparseTensor, n)
	for i := range tensors {
		tensors[i] = SparseTensor{Indices: indices[i], Values: values[i], Shape: shapes[i]}
	}
	return tensors
}
