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
	equal, joined := b.plan.Engine().EqualWindows(), b.plan.Engine().JoinsWindows()
	if b.plan.Shuffle != nil {
		d := b.windowEpochs()
		switch {
		case joined:
			return d.Batch(b.plan.BatchSize, b.dropRemainder()).Map("assemble", b.numbered(b.assembleRagged), b.mapOptions())
		case equal:
			return b.nativeBatches(d.Batch(b.plan.BatchSize, b.dropRemainder()))
		}
		return b.batch(b.asTensors(d))
	}
	o := b.nativeWindowOptions()
	o.Epochs, o.Threads = b.plan.Epochs, b.plan.ParallelParses
	if equal || joined {
		o.BatchSize, o.Drop, o.Joined = b.plan.BatchSize, b.dropRemainder(), joined
	}
	if equal {
		o.Size = b.joinedSize()
	}
	paths, counts := b.countedFiles()
	d := native.Windows(b.scope, b.scope.Const(paths), b.scope.Const(counts), b.nativeFeatures(), o)
	switch {
	case joined:
		return d.Map("assemble", b.assembleWindows, b.mapOptions())
	case equal:
		return b.nativeBatches(d)
	}
	return b.batch(b.asTensors(d))
}

// assembleWindows makes the plan's tensors of joined windows.
func (b *windowBuilder) assembleWindows(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	columns := b.windowColumns(s, args)
	if columns == nil {
		return nil
	}
	return b.assemble(s, columns)
}

// windowColumns returns the columns of the sorted features, and of the lengths of records
// that are measured, given what the native operation yields for joined windows.
func (b *windowBuilder) windowColumns(s *graph.Scope, args []tfbridge.Output) []column {
	features := b.plan.SortedFeatures()
	if len(args) != len(features)+1 {
		return nil // the scope has failed
	}
	splits := args[len(features)]
	columns := make([]column, 0, len(features))
	for i, f := range features {
		c := column{values: args[i], splits: splits}
		if b.plan.Window.Unit == spec.Records {
			c.splits = graph.Mul(s, splits, s.Const(f.TensorShape()[0]))
		}
		columns = append(columns, c)
	}
	columns = b.decodeColumns(s, columns)
	for _, m := range b.plan.RecordMeasures() {
		records := graph.Subscript(s, splits, graph.From(-1))
		length := s.Const(b.plan.FeatureOf(m.Tensor).TensorShape()[0])
		columns = append(columns, column{values: graph.Fill(s, records, length), splits: splits})
	}
	return columns
}

// windowVariants makes ragged rows of joined windows.
func (b *windowBuilder) windowVariants(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	var rows []tfbridge.Output
	for _, c := range b.windowColumns(s, args) {
		rows = append(rows, graph.RaggedTensorToVariant(s, c.asRagged()))
	}
	return rows
}

// asTensors puts the features of decoded elements in the order of the plan's
// tensors.
func (b *windowBuilder) asTensors(d *dataset.Dataset) *dataset.Dataset {
	order, _ := b.plan.Engine().ParsedOrder(true)
	if slices.IsSorted(order) && len(order) == len(b.plan.Features) {
		return d
	}
	return d.Map("order", b.numbered(func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		ordered := make([]tfbridge.Output, len(order))
		for i, from := range order {
			ordered[i] = graph.Identity(s, args[from])
		}
		return ordered
	}), inline)
}

// nativeFileWindows cuts the windows of one file of an epoch, one by one.
func (b *windowBuilder) nativeFileWindows(s *graph.Scope, epoch tfbridge.Output, file []tfbridge.Output) *dataset.Dataset {
	o := b.nativeWindowOptions()
	o.Epochs, o.FirstEpoch, o.FirstFile = 1, epoch, file[2]
	joined := b.plan.Engine().JoinsWindows()
	if joined {
		o.BatchSize, o.Joined = b.plan.Engine().WindowsAtOnce(), true
	}
	d := native.Windows(s, graph.ExpandDims(s, file[0], 0), graph.ExpandDims(s, file[1], 0), b.nativeFeatures(), o)
	if !joined {
		return d
	}
	return d.Map("windows", b.windowVariants, inline).Unbatch()
}

func (b *windowBuilder) nativeWindowOptions() *native.WindowsOptions {
	w := b.plan.Window
	return &native.WindowsOptions{
		Min: w.Min, Max: w.Max, Stride: w.Stride, KeepTail: w.Tail == spec.TailKeep, PadTail: w.Tail == spec.TailPad,
		WholeRecords: w.Unit == spec.Records, Seed: b.plan.Seed,
		Compression: b.plan.Manifest.Compression.TensorFlow(), BufferBytes: b.plan.ReadBufferBytes,
	}
}
