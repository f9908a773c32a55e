package examples

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// batchesOfImages is how many batches are made at the same time unless the config says how many.
// The threads of the processor share the images of one batch; a second one keeps them busy where
// the first one ends.
const batchesOfImages = 2

// Images parses batches of records, and makes all their tensors at once.
func (b *Builder) Images(d *dataset.Dataset) *dataset.Dataset {
	o := &dataset.MapOptions{Parallel: b.Parse.Parallel, Sloppy: b.Parse.Sloppy}
	if o.Parallel == 1 {
		o.Parallel = batchesOfImages
	}
	return d.Batch(b.batch.Size, b.batch.Full()).Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		records := args[0]
		if b.Draws() && len(args) > 1 {
			var numbers tfbridge.Output
			numbers, records = b.NumbersOf(s, records)
			s = b.processor.Drawn(s, args[1], numbers)
		}
		return b.processor.Derive(s, b.Features(s, records), []int64{-1})
	}, o)
}
