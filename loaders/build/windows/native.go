package windows

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// batchNative batches the shuffled windows that the native operation cuts.
func (b *Builder) batchNative(d *dataset.Dataset) *dataset.Dataset {
	switch {
	case b.Engine.JoinsWindows():
		return d.Batch(b.batch.Size, b.batch.Full()).Map("assemble", b.Numbered(b.assembleRagged), b.MapOptions())
	case b.Engine.EqualWindows():
		return b.batch.Finish(d.Batch(b.batch.Size, b.batch.Full()), b.Numbered)
	}
	return b.batch.Examples(b.asTensors(d))
}

// Native builds all stages up to the batches with one native operation, which reads the
// files and cuts windows in the order of the files or in a computed order.
func (b *Builder) Native() *dataset.Dataset {
	if b.Engine.ComputesOrder() {
		d := b.blocks.records.WindowBatches(b.blocks.parser.NativeFeatures(), &native.OrderedOptions{
			BatchSize: b.batch.Size, Size: b.JoinedSize(), Drop: b.batch.Full(),
		})
		return b.batch.Finish(d, b.Numbered)
	}
	equal, joined := b.Engine.EqualWindows(), b.Engine.JoinsWindows()
	o := b.nativeOptions()
	o.Epochs, o.Threads = b.Repeat.Epochs, b.Parse.Parallel
	if b.Epoch.Op != nil {
		o.Epochs, o.FirstEpoch = 1, b.Epoch
	}
	if equal || joined {
		o.BatchSize, o.Drop, o.Joined = b.batch.Size, b.batch.Full(), joined
	}
	if equal {
		o.Size = b.JoinedSize()
	}
	paths, counts := b.CountedFiles()
	d := native.Windows(b.Scope, b.Scope.Const(paths), b.Scope.Const(counts), b.blocks.parser.NativeFeatures(), o)
	switch {
	case joined:
		return d.Map("assemble", b.assembleJoined, b.MapOptions())
	case equal:
		return b.batch.Finish(d, b.Numbered)
	}
	return b.batch.Examples(b.asTensors(d))
}

// assembleJoined makes the plan's tensors of joined windows.
func (b *Builder) assembleJoined(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	columns := b.columns(s, args)
	if columns == nil {
		return nil
	}
	return b.blocks.processor.Assemble(s, columns)
}

// columns returns the columns of the sorted features, and of the lengths of records
// that are measured, given what the native operation yields for joined windows.
func (b *Builder) columns(s *graph.Scope, args []tfbridge.Output) []column.Column {
	features := b.Parse.Features
	if len(args) != len(features)+1 {
		return nil // the scope has failed
	}
	splits := args[len(features)]
	columns := make([]column.Column, 0, len(features))
	for i, f := range features {
		c := column.Column{Values: args[i], Splits: splits}
		if b.blocks.window.Unit == spec.Records {
			c.Splits = graph.Mul(s, splits, s.Const(f.TensorShape()[0]))
		}
		columns = append(columns, c)
	}
	columns = b.blocks.parser.DecodeColumns(s, columns)
	for _, m := range recordMeasures(b.Stages) {
		records := graph.Subscript(s, splits, graph.From(-1))
		length := s.Const(b.Parse.FeatureOf(m.Tensor).TensorShape()[0])
		columns = append(columns, column.Column{Values: graph.Fill(s, records, length), Splits: splits})
	}
	return columns
}

// variants makes ragged rows of joined windows.
func (b *Builder) variants(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	var rows []tfbridge.Output
	for _, c := range b.columns(s, args) {
		rows = append(rows, graph.RaggedTensorToVariant(s, c.AsRagged()))
	}
	return rows
}

// asTensors puts the features of decoded elements in the order of the plan's
// tensors.
func (b *Builder) asTensors(d *dataset.Dataset) *dataset.Dataset {
	order, _ := b.Engine.ParsedOrder(true)
	if slices.IsSorted(order) && len(order) == len(b.Parse.Features) {
		return d
	}
	return d.Map("order", b.Numbered(func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		ordered := make([]tfbridge.Output, len(order))
		for i, from := range order {
			ordered[i] = graph.Identity(s, args[from])
		}
		return ordered
	}), target.Inline())
}

// nativeOfFile cuts the windows of one file of an epoch, one by one.
func (b *Builder) nativeOfFile(s *graph.Scope, epoch tfbridge.Output, file []tfbridge.Output) *dataset.Dataset {
	o := b.nativeOptions()
	o.Epochs, o.FirstEpoch, o.FirstFile = 1, epoch, file[2]
	joined := b.Engine.JoinsWindows()
	if joined {
		o.BatchSize, o.Joined = b.Engine.WindowsAtOnce(), true
	}
	d := native.Windows(s, graph.ExpandDims(s, file[0], 0), graph.ExpandDims(s, file[1], 0), b.blocks.parser.NativeFeatures(), o)
	if !joined {
		return d
	}
	return d.Map("windows", b.variants, target.Inline()).Unbatch()
}

func (b *Builder) nativeOptions() *native.WindowsOptions {
	w := b.blocks.window
	return &native.WindowsOptions{
		Min: w.Min, Max: w.Max, Stride: w.Stride, KeepTail: w.Tail == spec.TailKeep, PadTail: w.Tail == spec.TailPad,
		WholeRecords: w.Unit == spec.Records, Seed: b.Seed,
		Compression: b.Reading.Compression.TensorFlow(), BufferBytes: b.Reading.BufferBytes,
	}
}
