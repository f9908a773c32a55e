package dataset

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// ParseExampleOptions are the options of [Dataset.ParseExample].
type ParseExampleOptions struct {
	Parallel int64 // batches parsed at a time; default 1; [Autotune]
	Sloppy   bool  // hand batches out as they are ready
}

// ParseExample parses batches of serialized Examples: the one component of d
// must be a vector of strings. The components are the features in the order of
// their keys (see [ParsedOrder]), each with one more dimension in front;
// sparse and ragged ones are in variants. The structure is fields by key.
func (d *Dataset) ParseExample(f *graph.ExampleFeatures, o *ParseExampleOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &ParseExampleOptions{}
	}
	s := d.scope
	limit.Between(Autotune, limit.Parallel).Check(s, "ParseExampleDatasetV2: parallel calls", o.Parallel)
	if f == nil {
		return d.fail("Dataset.ParseExample", "the features are nil")
	}
	if err := f.Check(); err != nil {
		s.UpdateErr("ParseExampleDatasetV2", err)
	}
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	if len(d.specs) != 1 || d.specs[0].DType != tfbridge.String || d.specs[0].Shape.NumDimensions() > 1 ||
		d.specs[0].Shape.NumDimensions() == 0 {
		return d.fail("ParseExampleDatasetV2", "components are %v, must be one vector of strings", d.specs)
	}
	parallel := o.Parallel
	if parallel == 0 {
		parallel = 1
	}
	values, splits := f.RaggedTypes()
	return d.then("ParseExampleDatasetV2", d.parsed(f), attrs{
		"sparse_keys":        f.SparseKeys(),
		"sparse_types":       f.SparseTypes(),
		"dense_keys":         f.DenseKeys(),
		"Tdense":             graph.DTypes(f.DenseSpecs()),
		"dense_shapes":       graph.Shapes(f.DenseSpecs()),
		"ragged_keys":        f.RaggedKeys(),
		"ragged_value_types": values,
		"ragged_split_types": splits,
		"deterministic":      determinism(o.Sloppy),
	}, s.Const(parallel), f.DenseDefaults(s)).as(d.parsedStructure(f))
}

// ParsedOrder returns the keys of features in the order in which
// [Dataset.ParseExample] gives them as components.
func ParsedOrder(f *graph.ExampleFeatures) []string {
	keys := slices.Concat(f.DenseKeys(), f.SparseKeys(), f.RaggedKeys())
	slices.Sort(keys)
	return keys
}

// parsed returns the specs of parsed batches.
func (d *Dataset) parsed(f *graph.ExampleFeatures) []graph.Spec {
	size := d.specs[0].Shape.Size(0)
	byKey := map[string]graph.Spec{}
	for _, feature := range f.Dense {
		byKey[feature.Key] = graph.Spec{DType: feature.DType}
		if dims, err := feature.Shape.ToSlice(); err == nil {
			byKey[feature.Key] = graph.Spec{
				DType: feature.DType,
				Shape: tfbridge.MakeShape(append([]int64{size}, dims...)...),
			}
		}
	}
	specs := make([]graph.Spec, 0, len(f.Dense)+len(f.Sparse)+len(f.Ragged))
	for _, key := range ParsedOrder(f) {
		p, dense := byKey[key]
		if !dense {
			p = graph.Spec{DType: tfbridge.Variant}
		}
		specs = append(specs, p)
	}
	return specs
}

// parsedStructure returns the structure of parsed batches: fields by key.
func (d *Dataset) parsedStructure(f *graph.ExampleFeatures) *Structure {
	size := d.specs[0].Shape.Size(0)
	rows := tfbridge.MakeShape(size, -1)
	fields := map[string]*Structure{}
	for i, p := range d.parsed(f) {
		fields[ParsedOrder(f)[i]] = DenseSpec(p.DType, p.Shape)
	}
	for _, p := range f.Sparse {
		fields[p.Key] = SparseSpec(p.DType, rows)
	}
	_, splits := f.RaggedTypes()
	for i, p := range f.Ragged {
		fields[p.Key] = RaggedSpec(p.DType, rows, 1)
		fields[p.Key].Splits = splits[i]
	}
	return FieldsSpec(fields)
}
