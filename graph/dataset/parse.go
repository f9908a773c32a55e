package dataset

import (
	"cmp"
	"runtime"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// ParseExampleOptions are the options of [Dataset.ParseExample].
type ParseExampleOptions struct {
	Parallel int64 // batches parsed at a time; default 1; [Autotune]
	Sloppy   bool  // yield batches as they are ready
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
	if debugOf(s) != nil {
		return d.parseInTurn(f)
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

// parseInTurn is ParseExample for debug mode: ParseExampleDatasetV2 has a thread that
// parses ahead.
func (d *Dataset) parseInTurn(f *graph.ExampleFeatures) *Dataset {
	t := d.parsedStructure(f)
	return d.Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		parsed := graph.ParseExampleV2(s, args[0], f)
		parts := map[string][]tfbridge.Output{}
		for i, key := range f.DenseKeys() {
			parts[key] = parsed.Dense[i : i+1]
		}
		for i, key := range f.SparseKeys() {
			p := parsed.Sparse[i]
			parts[key] = []tfbridge.Output{p.Indices, p.Values, p.Shape}
		}
		for i, key := range f.RaggedKeys() {
			parts[key] = []tfbridge.Output{parsed.Ragged[i].RowSplits, parsed.Ragged[i].Values}
		}
		components := make([]tfbridge.Output, len(t.Keys))
		for i, key := range t.Keys {
			components[i] = t.Parts[i].component(s, parts[key], true)
		}
		return components
	}, nil).as(t)
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

// BatchedFeaturesOptions are the options of [MakeBatchedFeaturesDataset]. Nil and the zero
// value mean the defaults, which are Python's.
type BatchedFeaturesOptions struct {
	// Reader makes the dataset of one file: Examples, scalar strings, or pairs of a key and
	// an Example. filename is a scalar string. Default: [TFRecords].
	Reader func(s *graph.Scope, filename tfbridge.Output) *Dataset

	Label          string // the feature that is the second part of each element; "": elements have one part
	Epochs         int64  // number of passes over the files; 0: endless
	InOrder        bool   // do not shuffle files and records
	ShuffleBuffer  int64  // records to shuffle among; default 10000
	Seed, Seed2    int64  // seeds of the shuffle, see [ShuffleOptions]
	PrefetchBuffer int64  // batches to read ahead; default [Autotune]
	ReaderThreads  int64  // files read at a time, whose records come in turns; default 1; [Autotune]
	ParserThreads  int64  // batches parsed at a time; default 2; [Autotune]
	Sloppy         bool   // with ReaderThreads: yield records as they are ready
	DropFinalBatch bool   // drop a last batch of fewer records
}

// MakeBatchedFeaturesDataset returns batches of the features of Examples, as Python's
// make_batched_features_dataset does: fields by the keys of the features, or with Label a
// tuple of the fields and the label. [Dataset.ParseExample] says what the fields are.
// patterns are as for [Files], which looks the files up. Files and records are shuffled,
// and the records come without end, unless the options say otherwise.
//
// It wraps MatchingFiles, InterleaveDataset, ShuffleDatasetV3, RepeatDataset,
// BatchDatasetV2, ParseExampleDatasetV2 and PrefetchDataset.
func MakeBatchedFeaturesDataset(s *graph.Scope, patterns []string, batchSize int64, features *graph.ExampleFeatures, o *BatchedFeaturesOptions) *Dataset {
	const what = "MakeBatchedFeaturesDataset"
	if o == nil {
		o = &BatchedFeaturesOptions{}
	}
	s.UpdateErr(what, o.check(patterns, features))
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	shuffle := &ShuffleOptions{Seed: o.Seed, Seed2: o.Seed2}
	files := Files(s, s.Const(patterns), &FilesOptions{Shuffle: !o.InOrder, Seed: o.Seed, Seed2: o.Seed2})
	records := o.read(files)
	if !o.InOrder {
		records = records.Shuffle(cmp.Or(o.ShuffleBuffer, 10000), shuffle)
	}
	if o.Epochs != 1 {
		records = records.Repeat(cmp.Or(o.Epochs, -1))
	}
	batches := records.Batch(batchSize, o.DropFinalBatch || o.Epochs == 0)
	parsed := batches.ParseExample(features, &ParseExampleOptions{Parallel: cmp.Or(o.ParserThreads, 2)})
	return parsed.labelled(o.Label).Prefetch(cmp.Or(o.PrefetchBuffer, Autotune))
}

// check reports invalid options.
func (o *BatchedFeaturesOptions) check(patterns []string, f *graph.ExampleFeatures) error {
	switch {
	case len(patterns) == 0:
		return millrace.Errorf(millrace.ErrModel, "there are no patterns of files")
	case f == nil:
		return millrace.Errorf(millrace.ErrModel, "the features are nil")
	case o.Label != "" && !slices.Contains(ParsedOrder(f), o.Label):
		return millrace.Errorf(millrace.ErrModel, "the label %q is none of the features %q", o.Label, ParsedOrder(f))
	case o.Epochs < 0:
		return millrace.Errorf(millrace.ErrModel, "Epochs is %d, must be at least 0", o.Epochs)
	}
	return nil
}

// read returns the Examples of files. It drops the keys if the reader returns pairs of
// a key and an Example.
func (o *BatchedFeaturesOptions) read(files *Dataset) *Dataset {
	open := o.Reader
	if open == nil {
		open = func(s *graph.Scope, filename tfbridge.Output) *Dataset { return TFRecords(s, filename, nil) }
	}
	cycle := cmp.Or(o.ReaderThreads, 1)
	if cycle == Autotune {
		cycle = int64(runtime.NumCPU())
	}
	records := files.Interleave("files", func(s *graph.Scope, args []tfbridge.Output) *Dataset {
		return open(s, args[0])
	}, &InterleaveOptions{CycleLength: cycle, Parallel: parallelReads(o.ReaderThreads), Sloppy: o.Sloppy})
	if specs := records.Specs(); len(specs) == 2 && specs[0].DType == tfbridge.String && specs[1].DType == tfbridge.String {
		return records.Map("example", func(_ *graph.Scope, pair []tfbridge.Output) []tfbridge.Output { return pair[1:] }, nil)
	}
	return records
}
