package build

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// buckets are the plan's buckets for elements that length measures, as int64
// scalars. batch makes one batch of all elements of a window.
func (b *builder) buckets(length func(*graph.Scope, []tfbridge.Output) tfbridge.Output, batch func(*dataset.Dataset, tfbridge.Output) *dataset.Dataset) *dataset.Buckets {
	return &dataset.Buckets{
		Length: length, Boundaries: b.plan.Bucket.Boundaries, Sizes: b.plan.Bucket.Sizes, Batch: batch,
	}
}

// bucketExamples parses records, and batches the examples by their length. Where a state
// needs the position of each record, that is a last component of the batches.
func (b *builder) bucketExamples(records *dataset.Dataset) *dataset.Dataset {
	d := records
	if b.plan.Engine().HoldsPositions() {
		d = d.Enumerate(0).Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return append(b.parseRecord(s, args[1:]), b.position(s, args[0]))
		}, b.mapOptions())
	} else {
		d = d.Map("parse", b.parseRecord, b.mapOptions())
	}
	bucket := b.plan.Bucket
	place := slices.IndexFunc(b.plan.Tensors, func(t spec.TensorSpec) bool { return t.Name == bucket.Tensor })
	length := func(s *graph.Scope, element []tfbridge.Output) tfbridge.Output {
		return graph.Subscript(s, graph.Shape(s, element[place]), graph.At(int64(bucket.Axis)))
	}
	return d.BucketByLength("bucket", b.buckets(length, b.paddedBatch))
}

// bucketWindows batches windows, ragged rows, by their length.
func (b *builder) bucketWindows(d *dataset.Dataset) *dataset.Dataset {
	batches := d.BucketByLength("bucket", b.buckets(b.windowLength, func(window *dataset.Dataset, size tfbridge.Output) *dataset.Dataset {
		return window.BatchOutput(size, b.dropRemainder())
	}))
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

// batch batches parsed elements, padded if the plan says so.
func (b *builder) batch(d *dataset.Dataset) *dataset.Dataset {
	if b.plan.Padding == nil {
		return d.Batch(b.plan.BatchSize, b.dropRemainder())
	}
	return b.paddedBatch(d, tfbridge.Output{})
}

// paddedBatch makes padded batches of the plan's size, or where that differs
// from batch to batch of one that is an output of the graph.
func (b *builder) paddedBatch(d *dataset.Dataset, size tfbridge.Output) *dataset.Dataset {
	o := &dataset.PaddedBatchOptions{Drop: b.dropRemainder()}
	if b.plan.BatchRows() < 0 {
		o.Size = size
	}
	for i, pad := range b.plan.Padding {
		o.Shapes = append(o.Shapes, pad.Shape)
		o.Values = append(o.Values, b.constant(d.Scope(), pad.Value, b.plan.Tensors[i].DType))
	}
	if b.plan.Engine().HoldsPositions() || b.plan.Engine().NumbersElements() {
		o.Shapes, o.Values = append(o.Shapes, []int64{}), append(o.Values, d.Scope().Const(int64(0)))
	}
	return d.PaddedBatch(b.plan.BatchSize, o)
}
