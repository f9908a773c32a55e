package build

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// lengthFunc measures an element, as an int64 scalar.
type lengthFunc func(s *graph.Scope, element []tfbridge.Output) tfbridge.Output

// bucketed puts elements into buckets by length. batch makes one batch of all
// elements of a window; a window has at most the given number of elements.
func (b *builder) bucketed(d *dataset.Dataset, length lengthFunc, batch func(d *dataset.Dataset, size tfbridge.Output) *dataset.Dataset) *dataset.Dataset {
	bucket := b.plan.Bucket
	size := func(s *graph.Scope, key tfbridge.Output) tfbridge.Output {
		return graph.GatherV2(s, s.Const(bucket.Sizes), key, 0)
	}
	return d.GroupByWindow("bucket", &dataset.Grouping{
		Key: func(s *graph.Scope, element []tfbridge.Output) tfbridge.Output {
			longer := graph.Greater(s, length(s, element), s.Const(bucket.Boundaries))
			return graph.ReduceSum(s, graph.Cast(s, longer, tfbridge.Int64))
		},
		Size: size,
		Reduce: func(s *graph.Scope, key tfbridge.Output, window *dataset.Dataset) *dataset.Dataset {
			return batch(window, size(s, key))
		},
	})
}

// bucketExamples batches parsed examples by their length.
func (b *builder) bucketExamples(d *dataset.Dataset) *dataset.Dataset {
	bucket := b.plan.Bucket
	place := slices.IndexFunc(b.plan.Tensors, func(t spec.TensorSpec) bool { return t.Name == bucket.Tensor })
	length := func(s *graph.Scope, element []tfbridge.Output) tfbridge.Output {
		return graph.Subscript(s, graph.Shape(s, element[place]), graph.At(int64(bucket.Axis)))
	}
	return b.bucketed(d, length, func(d *dataset.Dataset, size tfbridge.Output) *dataset.Dataset {
		return b.paddedBatch(d, size)
	})
}

// bucketWindows batches windows, ragged rows, by their length.
func (b *builder) bucketWindows(d *dataset.Dataset) *dataset.Dataset {
	batches := b.bucketed(d, b.windowLength, func(d *dataset.Dataset, size tfbridge.Output) *dataset.Dataset {
		return d.BatchOutput(size, b.dropRemainder())
	})
	return batches.Map("assemble", b.assembleRagged, b.mapOptions())
}

// windowLength measures a window's tensor after its processing steps.
func (b *builder) windowLength(s *graph.Scope, rows []tfbridge.Output) tfbridge.Output {
	bucket := b.plan.Bucket
	f := b.plan.FeatureOf(bucket.Tensor)
	place := slices.Index(b.plan.SortedFeatures(), f)
	c := b.raggedFeature(s, f, graph.Reshape(s, rows[place], s.Const([]int64{1})))
	for i := range b.plan.Steps {
		if step := &b.plan.Steps[i]; step.Tensor == bucket.Tensor {
			c = b.sliceColumn(s, step, c)
		}
	}
	return graph.Subscript(s, c.sizes(s, bucket.Axis), graph.At(0))
}
