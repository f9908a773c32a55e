package dataset

import "millrace/tfbridge"

// Prefetch reads up to n elements ahead, in the background; n may be
// [Autotune], and 0 is none.
func (d *Dataset) Prefetch(n int64) *Dataset {
	d = d.orNone()
	if n == 0 {
		return d
	}
	return d.same("PrefetchDataset", nil, d.scope.Const(n)).neverEnds(d.endless)
}

// Cache keeps the elements of the first pass for later ones, in memory, or in
// files whose names start with filename if it is not empty. The first pass
// must run to the end.
func (d *Dataset) Cache(filename string) *Dataset {
	d = d.orNone()
	cache := d.scope.Op1("DummyMemoryCache", nil)
	return d.same("CacheDatasetV2", nil, d.scope.Const(filename), cache)
}

// AssertCardinality is an error, of code FailedPrecondition, in place of an
// end that comes before or after n elements. It is what tells a cut file from
// a whole one. n is a scalar of int64; -1 is endless.
func (d *Dataset) AssertCardinality(n tfbridge.Output) *Dataset {
	d = d.orNone()
	return d.same("AssertCardinalityDataset", nil, n)
}

// Cardinality returns, as a scalar of int64, the number of elements: -1 if it
// is endless, -2 if it is not known without reading.
func (d *Dataset) Cardinality() tfbridge.Output {
	d = d.orNone()
	return d.scope.Op1("DatasetCardinality", nil, d.variant)
}

// IgnoreErrors leaves out elements that fail. An error of reading a file ends
// that file without a word: count what arrives.
func (d *Dataset) IgnoreErrors() *Dataset {
	d = d.orNone()
	return d.same("IgnoreErrorsDataset", nil)
}

// AssertNext is an error, of code InvalidArgument, unless the transformations
// that TensorFlow runs after d begin with these names, such as "MapAndBatch":
// tests see by it what became of a pipeline. It wraps AssertNextDataset.
func (d *Dataset) AssertNext(names ...string) *Dataset {
	d = d.orNone()
	if len(names) == 0 {
		return d.fail("Dataset.AssertNext", "there are no names")
	}
	return d.same("AssertNextDataset", nil, d.scope.Const(names))
}
