package batch

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// LengthFunc returns the length by which an element is put into a bucket, an int64
// scalar.
type LengthFunc = func(s *graph.Scope, element []tfbridge.Output) tfbridge.Output

// Buckets puts examples into buckets, and batches the examples of a bucket.
func (b *Batcher) Buckets(d *dataset.Dataset) *dataset.Dataset {
	bucket, _ := stage.Find[stage.Bucket](b.Stages)
	i := b.Out.Index(bucket.Tensor)
	return b.BucketsOf(d, func(s *graph.Scope, example []tfbridge.Output) tfbridge.Output {
		return graph.Subscript(s, graph.Shape(s, example[i]), graph.At(int64(bucket.Axis)))
	}, b.padded)
}

// BucketsOf puts elements into the plan's buckets before they become examples. join
// makes one batch of all elements of a window.
func (b *Batcher) BucketsOf(d *dataset.Dataset, length LengthFunc, join func(window *dataset.Dataset, size tfbridge.Output) *dataset.Dataset) *dataset.Dataset {
	bucket, _ := stage.Find[stage.Bucket](b.Stages)
	return d.BucketByLength("bucket", &dataset.Buckets{Length: length, Boundaries: bucket.Boundaries, Sizes: bucket.Sizes, Batch: join})
}
