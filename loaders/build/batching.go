package build

import (
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

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
	return d.PaddedBatch(b.plan.BatchSize, o)
}
