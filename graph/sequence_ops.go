package graph

import (
	"millrace"
	"millrace/tfbridge"
)

// ListFeature is a feature list of a SequenceExample in which all elements have one
// shape. A list parsed from one record has an additional first dimension, the length of
// the list.
type ListFeature struct {
	Key          string
	DType        tfbridge.DataType
	Shape        tfbridge.Shape // shape of one element
	AllowMissing bool           // a record without the list has an empty one; default an error
}

// RaggedListFeature is a feature list whose elements hold any number of
// values, as a ragged tensor.
type RaggedListFeature = RaggedFeature

// SequenceFeatures are the features to parse from SequenceExamples.
type SequenceFeatures struct {
	Context     ExampleFeatures // its ExampleNames name the records in messages
	Lists       []ListFeature
	SparseLists []SparseFeature
	RaggedLists []RaggedListFeature
}

// RaggedList is the parts of a ragged feature list of several records.
type RaggedList struct {
	Values, Inner, Outer tfbridge.Output // the values and the splits of elements and records
}

// ParsedSequence is what parsing gives, in the order of the features.
type ParsedSequence struct {
	Context     ParsedExample
	Lists       []tfbridge.Output
	Lengths     []tfbridge.Output // lengths of Lists in each record; only [ParseSequenceExampleV2] sets them
	SparseLists []SparseTensor
	RaggedLists []RaggedList // only [ParseSequenceExampleV2] sets them
}

// ParseSingleSequenceExample adds a ParseSingleSequenceExample: it parses one
// serialized SequenceExample. It does not support ragged features.
func ParseSingleSequenceExample(s *Scope, serialized tfbridge.Output, f *SequenceFeatures) *ParsedSequence {
	const op = "ParseSingleSequenceExample"
	f = f.checked(s, op)
	if len(f.Context.Ragged)+len(f.RaggedLists) > 0 {
		s.fail(op, "ragged features need ParseSequenceExampleV2")
	}
	c := &f.Context
	outputs := s.Op(op, map[string]any{
		"Ncontext_sparse":           int64(len(c.Sparse)),
		"Ncontext_dense":            int64(len(c.Dense)),
		"Nfeature_list_sparse":      int64(len(f.SparseLists)),
		"Nfeature_list_dense":       int64(len(f.Lists)),
		"context_sparse_types":      c.SparseTypes(),
		"Tcontext_dense":            DTypes(c.DenseSpecs()),
		"context_dense_shapes":      Shapes(c.DenseSpecs()),
		"feature_list_sparse_types": f.sparseLists().SparseTypes(),
		"feature_list_dense_types":  DTypes(f.listSpecs()),
		"feature_list_dense_shapes": Shapes(f.listSpecs()),
	}, serialized, s.Const(f.missing()),
		s.scalars(c.SparseKeys()), s.scalars(c.DenseKeys()),
		s.scalars(f.sparseLists().SparseKeys()), s.scalars(f.listKeys()),
		c.DenseDefaults(s), f.name(s, ""))
	from := &taker{outputs}
	p := &ParsedSequence{Context: *c.parsed(from)}
	p.SparseLists = from.sparse(len(f.SparseLists))
	p.Lists = from.next(len(f.Lists))
	return p
}

// ParseSequenceExampleV2 adds a ParseSequenceExampleV2: it parses a vector of
// serialized SequenceExamples at once. Dense lists are padded to the longest
// of the batch; Lengths has the true lengths.
func ParseSequenceExampleV2(s *Scope, serialized tfbridge.Output, f *SequenceFeatures) *ParsedSequence {
	const op = "ParseSequenceExampleV2"
	f = f.checked(s, op)
	allow := make([]bool, len(f.Lists))
	for i, l := range f.Lists {
		allow[i] = l.AllowMissing
	}
	c, ragged := &f.Context, &ExampleFeatures{Ragged: f.RaggedLists}
	outputs := s.Op(op, f.batchAttrs(), serialized, f.name(s, []string{}),
		s.Const(c.SparseKeys()), s.Const(c.DenseKeys()), s.Const(c.RaggedKeys()),
		s.Const(f.sparseLists().SparseKeys()), s.Const(f.listKeys()), s.Const(ragged.RaggedKeys()),
		s.Const(allow), c.DenseDefaults(s))
	from := &taker{outputs}
	p := &ParsedSequence{Context: *c.parsed(from)}
	p.SparseLists = from.sparse(len(f.SparseLists))
	p.Lists, p.Lengths = from.next(len(f.Lists)), from.next(len(f.Lists))
	n := len(f.RaggedLists)
	values, outer, inner := from.next(n), from.next(n), from.next(n)
	for i := range values {
		p.RaggedLists = append(p.RaggedLists, RaggedList{Values: values[i], Inner: inner[i], Outer: outer[i]})
	}
	return p
}

// batchAttrs returns the attributes of a ParseSequenceExampleV2.
func (f *SequenceFeatures) batchAttrs() map[string]any {
	c, ragged := &f.Context, &ExampleFeatures{Ragged: f.RaggedLists}
	values, splits := c.RaggedTypes()
	listValues, listSplits := ragged.RaggedTypes()
	return map[string]any{
		"Ncontext_sparse":                 int64(len(c.Sparse)),
		"Tcontext_dense":                  DTypes(c.DenseSpecs()),
		"context_sparse_types":            c.SparseTypes(),
		"context_ragged_value_types":      values,
		"context_ragged_split_types":      splits,
		"context_dense_shapes":            Shapes(c.DenseSpecs()),
		"Nfeature_list_sparse":            int64(len(f.SparseLists)),
		"Nfeature_list_dense":             int64(len(f.Lists)),
		"feature_list_dense_types":        DTypes(f.listSpecs()),
		"feature_list_sparse_types":       f.sparseLists().SparseTypes(),
		"feature_list_ragged_value_types": listValues,
		"feature_list_ragged_split_types": listSplits,
		"feature_list_dense_shapes":       Shapes(f.listSpecs()),
	}
}

// checked reports invalid features as the scope's failure. It returns f, or no features
// if f is nil.
func (f *SequenceFeatures) checked(s *Scope, op string) *SequenceFeatures {
	if f == nil {
		s.fail(op, "the features are nil")
		return &SequenceFeatures{}
	}
	s.UpdateErr(op, f.check())
	return f
}

// check reports a key given twice, in the context or among the lists.
func (f *SequenceFeatures) check() error {
	if err := f.Context.Check(); err != nil {
		return err
	}
	lists := ExampleFeatures{Sparse: f.SparseLists, Ragged: f.RaggedLists}
	for _, l := range f.Lists {
		lists.Dense = append(lists.Dense, DenseFeature{Key: l.Key})
		if l.Shape.NumDimensions() >= 0 && !l.Shape.IsFullySpecified() {
			return millrace.Errorf(millrace.ErrModel, "feature list %q has elements of unknown shape %v", l.Key, l.Shape)
		}
	}
	return lists.Check()
}

func (f *SequenceFeatures) sparseLists() *ExampleFeatures {
	return &ExampleFeatures{Sparse: f.SparseLists}
}

func (f *SequenceFeatures) listKeys() []string {
	keys := make([]string, len(f.Lists))
	for i, l := range f.Lists {
		keys[i] = l.Key
	}
	return keys
}

func (f *SequenceFeatures) listSpecs() []Spec {
	specs := make([]Spec, len(f.Lists))
	for i, l := range f.Lists {
		specs[i] = Spec{DType: l.DType, Shape: l.Shape}
	}
	return specs
}

// missing returns the keys of the lists that a record may lack.
func (f *SequenceFeatures) missing() []string {
	keys := []string{}
	for _, l := range f.Lists {
		if l.AllowMissing {
			keys = append(keys, l.Key)
		}
	}
	return keys
}

// name returns the names for messages, or a constant of none.
func (f *SequenceFeatures) name(s *Scope, none any) tfbridge.Output {
	if f.Context.ExampleNames.Op != nil {
		return f.Context.ExampleNames
	}
	return s.Const(none)
}

// scalars adds a scalar constant for each string.
func (s *Scope) scalars(values []string) tfbridge.OutputList {
	list := make(tfbridge.OutputList, len(values))
	for i, v := range values {
		list[i] = s.Const(v)
	}
	return list
}
