package dataset

import "millrace/tfbridge"

// Prefetch reads up to n elements ahead in the background. n may be [Autotune]; 0 means
// no prefetching.
func (d *Dataset) Prefetch(n int64) *Dataset {
	d = d.orNone()
	if n == 0 {
		return d
	}
	return d.same("PrefetchDataset", nil, d.scope.Const(n)).neverEnds(d.endless)
}

// Cache keeps the elements of the first pass for later passes: in memory, or if filename
// is not empty in files whose names begin with it. The first pass must run to the end.
func (d *Dataset) Cache(filename string) *Dataset {
	d = d.orNone()
	cache := d.scope.Op1("DummyMemoryCache", nil)
	return d.same("CacheDatasetV2", nil, d.scope.Const(filename), cache)
}

// AssertCardinality fails with code FailedPrecondition if d ends before or after n
// elements. It tells a truncated file from a complete one. n is a scalar of int64; -1
// means endless.
func (d *Dataset) AssertCardinality(n tfbridge.Output) *Dataset {
	d = d.orNone()
	return d.same("AssertCardinalityDataset", nil, n)
}

// Cardinality returns the number of elements as a scalar of int64: -1 if d is endless,
// -2 if the number is unknown without reading.
func (d *Dataset) Cardinality() tfbridge.Output {
	d = d.orNone()
	return d.scope.Op1("DatasetCardinality", nil, d.variant)
}

// IgnoreErrors drops elements that fail. An error while reading a file silently ends
// that file, so count the elements.
func (d *Dataset) IgnoreErrors() *Dataset {
	d = d.orNone()
	return d.same("IgnoreErrorsDataset", nil)
}

// AssertNext fails with code InvalidArgument unless the transformations that TensorFlow
// runs after d begin with these names, such as "MapAndBatch". Tests use it to see how
// TensorFlow rewrote a pipeline. It wraps AssertNextDataset.
func (d *Dataset) AssertNext(names ...string) *Dataset {
	d = d.orNone()
	if len(names) == 0 {
		return d.fail("Dataset.AssertNext", "there are no names")
	}
	return d.same("AssertNextDataset", nil, d.scope.Const(names))
}
