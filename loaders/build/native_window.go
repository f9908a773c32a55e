package build

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// nativeWindowBatches builds the sequence loaders up to their batches with
// windows that the native operation cuts.
func (b *windowBuilder) nativeWindowBatches() *dataset.Dataset {
	equal := b.plan.EqualWindows()
	var d *dataset.Dataset
	if b.plan.Shuffle == nil {
		o := b.nativeWindowOptions()
		o.Epochs, o.Threads = b.plan.Epochs, b.plan.ParallelParses
		if equal {
			o.BatchSize, o.Drop = b.plan.BatchSize, b.dropRemainder()
			o.Size = b.joinedSize()
		}
		paths, counts := b.countedFiles()
		d = native.Windows(b.scope, b.scope.Const(paths), b.scope.Const(counts), b.nativeFeatures(), o)
	} else {
		d = b.windowEpochs()
	}
	if !equal {
		return b.batch(b.asTensors(d))
	}
	if b.plan.Shuffle != nil {
		d = d.Batch(b.plan.BatchSize, b.dropRemainder())
	}
	return b.nativeBatches(d)
}

// asTensors puts the features of decoded elements in the order of the plan's
// tensors.
func (b *windowBuilder) asTensors(d *dataset.Dataset) *dataset.Dataset {
	order, _ := b.plan.ParsedOrder(true)
	if slices.IsSorted(order) && len(order) == len(b.plan.Features) {
		return d
	}
	return d.Map("order", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		ordered := make([]tfbridge.Output, len(order))
		for i, from := range order {
			ordered[i] = graph.Identity(s, args[from])
		}
		return ordered
	}, inline)
}

// nativeFileWindows cuts the windows of one file of an epoch, one by one.
func (b *windowBuilder) nativeFileWindows(s *graph.Scope, epoch tfbridge.Output, file []tfbridge.Output) *dataset.Dataset {
	o := b.nativeWindowOptions()
	o.Epochs, o.FirstEpoch, o.FirstFile = 1, epoch, file[2]
	return native.Windows(s, graph.ExpandDims(s, file[0], 0), graph.ExpandDims(s, file[1], 0), b.nativeFeatures(), o)
}

func (b *windowBuilder) nativeWindowOptions() *native.WindowsOptions {
	w := b.plan.Window
	return &native.WindowsOptions{
		Min: w.Min, Max: w.Max, Stride: w.Stride, KeepTail: w.Tail != spec.TailDrop,
		WholeRecords: w.Unit == spec.Records, Seed: b.plan.Seed,
		Compression: b.plan.Manifest.Compression.TensorFlow(), BufferBytes: b.plan.ReadBufferBytes,
	}
}
