package build

import (
	"millrace/graph/dataset"
	"millrace/loaders/stage/order"
)

// independent builds loaders whose examples are records.
type independent struct{}

// batches reads records, or batches of them, and makes the tensors.
func (independent) batches(b *builder) *dataset.Dataset {
	if b.plan.Engine().Native().Applied {
		return b.nativeRecords()
	}
	d := b.records()
	if b.plan.Engine().RaggedRows().Applied {
		d = d.Batch(b.plan.BatchSize, b.dropRemainder())
		return d.Map("parse", b.parseLists, b.mapOptions())
	}
	if b.plan.Engine().ParseBatches().Applied {
		d = b.parseBatches(d.BatchOutput(b.group, false))
		return d.Rebatch(b.plan.BatchSize, b.dropRemainder())
	}
	if b.plan.Bucket != nil {
		return b.bucketExamples(d)
	}
	return b.batch(d.Map("parse", b.parseRecord, b.mapOptions()))
}

// place is for rows that are records.
func (independent) place(b *builder) func(first, rows int64) string {
	return func(first, rows int64) string { return order.Place(b.plan.Spec, b.scan, first, rows) }
}

// probe reads files one after the other, since shuffling nothing takes for
// ever. Without shuffling and without end, RepeatDataset finds out by itself.
func (independent) probe(b *builder) *dataset.Dataset {
	if b.plan.Shuffle == nil && b.plan.Epochs == 0 {
		return nil
	}
	return b.joined(b.scope)
}
