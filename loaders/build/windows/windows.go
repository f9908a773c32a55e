// Package windows builds the stages of loaders whose examples are windows of a file's
// joined records: reading, parsing and cutting, and batches of windows.
package windows

import (
	"millrace/graph/dataset"
	"millrace/loaders/build/batch"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// Builder builds windows.
type Builder struct {
	source.Epochs
	blocks blocks
	batch  *batch.Batcher
}

// New returns a Builder of the windows of t.
func New(t *target.Target) *Builder {
	w, _ := stage.Find[stage.Window](t.Stages)
	return &Builder{source.Epochs{Target: t}, blocks{
		Target: t, layout: layout{t.Parse.Features, unitOf(w)}, window: w, apart: t.ByPosition,
		records: source.New(t), parser: parse.New(t), processor: process.New(t),
	}, batch.New(t)}
}

// Batches batches the windows of [Builder.Stream].
//
// Windows of one shape become the plan's tensors group by group, as soon as they are
// cut. Others travel as ragged rows and become tensors batch by batch: a function call
// for each window would take longer than all other work.
func (b *Builder) Batches(d *dataset.Dataset) *dataset.Dataset {
	if b.Engine.Native().Applied {
		return b.batchNative(d)
	}
	if b.Shuffling != nil {
		d = d.Batch(b.batch.Size, b.batch.Full())
	} else {
		d = d.Rebatch(b.batch.Size, b.batch.Full())
	}
	if b.Engine.EqualWindows() {
		return d
	}
	return d.Map("assemble", b.Numbered(b.assembleRagged), target.Inline())
}

// Buckets batches the windows of [Builder.Stream] by their lengths.
func (b *Builder) Buckets(d *dataset.Dataset) *dataset.Dataset {
	if b.Shuffling == nil {
		d = d.Unbatch()
	}
	batches := b.batch.BucketsOf(d, b.length, func(window *dataset.Dataset, size tfbridge.Output) *dataset.Dataset {
		return window.BatchOutput(size, b.batch.Full())
	})
	return batches.Map("assemble", b.assembleRagged, b.MapOptions())
}
