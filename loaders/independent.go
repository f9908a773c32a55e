package loaders

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// examples builds the independent loader up to its batches.
func (b *builder) examples() *dataset.Dataset {
	if b.plan.native().Applied {
		return b.nativeRecords()
	}
	d := b.records()
	if b.plan.applied(rewriteRaggedRows) {
		d = d.Batch(b.plan.BatchSize, b.dropRemainder())
		return d.Map("parse", b.parseLists, b.mapOptions())
	}
	if b.plan.applied(rewriteParseBatches) {
		d = b.parseBatches(d.BatchOutput(b.group, false))
		return d.Rebatch(b.plan.BatchSize, b.dropRemainder())
	}
	d = d.Map("parse", b.parseRecord, b.mapOptions())
	if b.plan.Bucket != nil {
		return b.bucketExamples(d)
	}
	return b.batch(d)
}

// Streams of random draws: each takes seeds of its own from the plan's seed.
const (
	streamNames   = 1
	streamRecords = 2

	streams = 4 // more than there are
)

// seeds returns the seeds of one stream of random draws. Seeds of 0, 0 would
// mean a fresh seed to TensorFlow; the stream number rules that out.
func (b *builder) seeds(stream int64) (int64, int64) { return b.plan.Seed, stream }

// repeats returns RepeatDataset's count.
func (b *builder) repeats() int64 {
	if b.plan.Epochs == 0 {
		return -1
	}
	return b.plan.Epochs
}

// dropRemainder reports whether a short last batch is dropped. An endless
// dataset has none, and saying so makes the batch dimension static.
func (b *builder) dropRemainder() bool { return b.plan.DropRemainder || b.plan.Epochs == 0 }

// mapOptions returns how parsing runs: its parallelism, and whether batches
// may overtake each other.
func (b *builder) mapOptions() *dataset.MapOptions {
	return &dataset.MapOptions{Parallel: b.plan.ParallelParses, Sloppy: b.plan.Sloppy}
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
	if b.plan.batchRows() < 0 {
		o.Size = size
	}
	for i, pad := range b.plan.Padding {
		o.Shapes = append(o.Shapes, pad.Shape)
		o.Values = append(o.Values, b.constant(d.Scope(), pad.Value, b.plan.Tensors[i].DType))
	}
	return d.PaddedBatch(b.plan.BatchSize, o)
}

// constant adds a scalar of a dtype. The value is one that the dtype holds.
func (b *builder) constant(s *graph.Scope, value any, dtype tfbridge.DataType) tfbridge.Output {
	return graph.Cast(s, s.Const(value), dtype)
}
