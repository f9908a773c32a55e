package examples

import (
	"millrace/graph/dataset/native"
	"millrace/loaders/stage"
)

func (b *Builder) bucketed() bool {
	_, bucketed := stage.Find[stage.Bucket](b.Stages)
	return bucketed
}

func (b *Builder) nativeOptions() *native.ExamplesOptions {
	o := &native.ExamplesOptions{
		BatchSize: b.batch.Size, Size: b.JoinedSize(), Epochs: b.Repeat.Epochs, Drop: b.drops(),
		Compression: b.Reading.Compression.TensorFlow(), BufferBytes: b.Reading.BufferBytes,
		Threads: max(b.Parse.Parallel, 2), // the next file is always inflated ahead
		Skip:    b.Skips(),
	}
	if b.Epoch.Op != nil {
		o.Epochs = 1
	}
	if b.Engine.ChecksRecords() {
		o.Check = b.Feed().CheckDoubtful
	}
	return o
}

// drops reports whether the operation that reads records drops a rest of them. With a filter
// the batches are made after it.
func (b *Builder) drops() bool { return b.batch.Full() && !b.Filters() }

// orderedOptions returns how the native operations batch the records of an order.
func (b *Builder) orderedOptions() *native.OrderedOptions {
	o := &native.OrderedOptions{BatchSize: b.batch.Size, Size: b.JoinedSize(), Drop: b.drops()}
	if b.Engine.ChecksRecords() {
		o.Check = b.Feed().CheckByPosition
	}
	return o
}

// parseOptions returns the options for decoding the records of [source.Records.Stream].
func (b *Builder) parseOptions() *native.ParseOptions {
	return &native.ParseOptions{Drop: b.batch.Full(), DecodeOptions: b.Located(b.Scope)}
}
