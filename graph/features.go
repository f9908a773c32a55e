package graph

import (
	"millrace"
	"millrace/tfbridge"
)

// DenseFeature is a feature whose values form a tensor. TensorFlow stores
// Int64, Float and String only; for other types [Cast] the result.
type DenseFeature struct {
	Key     string
	DType   tfbridge.DataType
	Shape   tfbridge.Shape  // the shape in one record; its first dimension may be unknown where several records are parsed at once
	Default tfbridge.Output // the value for records without the feature; not set: the feature is required or, with an unknown dimension, padded with zeros
}

// SparseFeature is a feature of any number of values, as a sparse tensor.
type SparseFeature struct {
	Key   string
	DType tfbridge.DataType
}

// RaggedFeature is a feature of any number of values, as a ragged tensor.
type RaggedFeature struct {
	Key    string
	DType  tfbridge.DataType
	Splits tfbridge.DataType // the type of the row splits: Int32 or Int64; default Int64
}

// ExampleFeatures are the features to parse from Examples.
type ExampleFeatures struct {
	Dense  []DenseFeature
	Sparse []SparseFeature
	Ragged []RaggedFeature
	// ExampleNames are strings that name the records in messages, such as the keys of a
	// reader: of the shape of the serialized records. Not set: messages have no names.
	ExampleNames tfbridge.Output
}

// SparseTensor is the parts of a sparse tensor.
type SparseTensor struct {
	Indices, Values, Shape tfbridge.Output
}

// RaggedTensor is the parts of a ragged tensor.
type RaggedTensor struct {
	Values, RowSplits tfbridge.Output
}

// ParsedExample is what parsing gives, in the order of the features.
type ParsedExample struct {
	Dense  []tfbridge.Output
	Sparse []SparseTensor
	Ragged []RaggedTensor
}

// Check reports a key that is given twice: TensorFlow takes one, and then says
// that the feature is missing from the record.
func (f *ExampleFeatures) Check() error {
	seen := map[string]bool{}
	for _, key := range f.keys() {
		if seen[key] {
			return millrace.Errorf(millrace.ErrModel, "feature %q is to be parsed twice", key)
		}
		seen[key] = true
	}
	return nil
}

func (f *ExampleFeatures) keys() []string {
	var keys []string
	for _, d := range f.Dense {
		keys = append(keys, d.Key)
	}
	for _, p := range f.Sparse {
		keys = append(keys, p.Key)
	}
	for _, r := range f.Ragged {
		keys = append(keys, r.Key)
	}
	return keys
}

// DenseKeys returns the keys of the dense features, never nil.
func (f *ExampleFeatures) DenseKeys() []string {
	keys := make([]string, len(f.Dense))
	for i, d := range f.Dense {
		keys[i] = d.Key
	}
	return keys
}

// DenseSpecs returns the types and shapes of the dense features, of one record.
func (f *ExampleFeatures) DenseSpecs() []Spec {
	specs := make([]Spec, len(f.Dense))
	for i, d := range f.Dense {
		specs[i] = Spec{DType: d.DType, Shape: d.Shape}
	}
	return specs
}

// DenseDefaults returns the dense_defaults input of the parsing operations: a
// default for each dense feature, the empty tensor where it is required.
func (f *ExampleFeatures) DenseDefaults(s *Scope) tfbridge.OutputList {
	defaults := make(tfbridge.OutputList, len(f.Dense))
	for i, d := range f.Dense {
		switch {
		case d.Default.Op != nil:
			defaults[i] = d.Default
		case d.Shape.NumDimensions() > 0 && d.Shape.Size(0) < 0:
			defaults[i] = s.Zeros(d.DType)
		default:
			defaults[i] = s.Zeros(d.DType, 0)
		}
	}
	return defaults
}

// SparseKeys returns the keys of the sparse features, never nil.
func (f *ExampleFeatures) SparseKeys() []string {
	keys := make([]string, len(f.Sparse))
	for i, p := range f.Sparse {
		keys[i] = p.Key
	}
	return keys
}

// SparseTypes returns the types of the sparse features.
func (f *ExampleFeatures) SparseTypes() []tfbridge.DataType {
	types := make([]tfbridge.DataType, len(f.Sparse))
	for i, p := range f.Sparse {
		types[i] = p.DType
	}
	return types
}

// RaggedKeys returns the keys of the ragged features, never nil.
func (f *ExampleFeatures) RaggedKeys() []string {
	keys := make([]string, len(f.Ragged))
	for i, r := range f.Ragged {
		keys[i] = r.Key
	}
	return keys
}

// RaggedTypes returns the types of the ragged features' values and of their
// row splits.
func (f *ExampleFeatures) RaggedTypes() (values, splits []tfbridge.DataType) {
	for _, r := range f.Ragged {
		split := r.Splits
		if split == 0 {
			split = tfbridge.Int64
		}
		values, splits = append(values, r.DType), append(splits, split)
	}
	return values, splits
}
