package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// inline is how small functions are called.
var inline = &dataset.MapOptions{Inline: true}

// sequence builds loaders whose examples are windows of a file's joined records.
type sequence struct{ unit unit }

// windowBuilder is a builder of windows.
type windowBuilder struct {
	*builder
	unit unit

	// stored has windows that are read by their place be what records store, as those of
	// the native operation are.
	stored bool
}

// batches builds the sequence loaders up to their batches.
//
// Windows of one shape become the plan's tensors group by group, as soon as
// they are cut. Others travel as ragged rows and become tensors batch by
// batch: a function call for each window would take longer than all the rest.
func (q sequence) batches(shared *builder) *dataset.Dataset {
	b := &windowBuilder{builder: shared, unit: q.unit}
	if b.plan.Engine().Native().Applied {
		return b.nativeWindowBatches()
	}
	d := b.windows()
	if b.plan.Bucket != nil {
		if b.plan.Shuffle == nil {
			d = d.Unbatch()
		}
		return b.bucketWindows(d)
	}
	if b.plan.Shuffle != nil {
		d = d.Batch(b.plan.BatchSize, b.dropRemainder())
	} else {
		d = d.Rebatch(b.plan.BatchSize, b.dropRemainder())
	}
	if b.plan.Engine().EqualWindows() {
		return d
	}
	return d.Map("assemble", b.numbered(b.assembleRagged), inline)
}

// windows builds the windows of all epochs: one by one if they are shuffled, else in
// groups.
func (b *windowBuilder) windows() *dataset.Dataset {
	if b.plan.Records != nil {
		return b.windowsByPlace()
	}
	return b.windowEpochs()
}

// windowEpochs builds the windows of all epochs, from window b.skip on where the plan
// seeks.
func (b *windowBuilder) windowEpochs() *dataset.Dataset {
	switch {
	case b.plan.Engine().Seeks():
		return b.epochsFrom(b.windowPass, b.resumedWindows)
	case b.plan.Engine().Replays():
		return b.replayedEpochs(b.windowPass)
	}
	return b.epochs(b.windowPass)
}

// fileWindows builds the windows of one file, given its name, number of
// records and ordinal: one by one if they are shuffled later, else in groups.
func (b *windowBuilder) fileWindows(s *graph.Scope, epoch tfbridge.Output, file []tfbridge.Output) *dataset.Dataset {
	if b.plan.Engine().Native().Applied {
		return b.nativeFileWindows(s, epoch, file)
	}
	d := b.blocks(s, file)
	c := &cutter{plan: b.plan, unit: b.unit}
	if b.plan.Window.Min != b.plan.Window.Max {
		c.sizes = b.newDraws(s, epoch, file[2])
	}
	d = d.Scan("cut", c.initial(s, d.Specs()), c.cut)
	d = d.Filter("any_windows", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[0]), s.Const(int64(0)))
	})
	d = b.groups(d)
	if b.plan.Shuffle != nil {
		return d.Unbatch()
	}
	return d
}

// groups makes tensors of the windows of a block.
func (b *windowBuilder) groups(d *dataset.Dataset) *dataset.Dataset {
	if b.plan.Window.Stride == 0 {
		return d.Map("windows", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return b.windowRows(s, args[0], args[1], args[windowEnds:])
		}, inline)
	}
	// Windows that overlap are copied, so that a block of them may be many
	// times the block: only so many at a time.
	return d.FlatMap("windows", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		ends := dataset.FromSlices(s, args[0], args[1]).Batch(b.plan.Engine().WindowsAtOnce(), false)
		return ends.Map("group", func(s *graph.Scope, ends []tfbridge.Output) []tfbridge.Output {
			return b.windowRows(s, ends[0], ends[1], args[windowEnds:])
		}, inline)
	})
}

// probe looks for one window in the files, in order.
func (q sequence) probe(b *builder) *dataset.Dataset {
	b.plan = b.plan.FirstWindow()
	w := &windowBuilder{builder: b, unit: q.unit}
	return w.windowPass(b.scope, b.scope.Const(int64(0)))
}

// windowPass builds the windows of one epoch: file names, their shuffle, the
// interleave of the files' windows and the shuffle of those.
func (b *windowBuilder) windowPass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	read := func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return b.fileWindows(s, epoch, args)
	}
	files := b.files(s)
	sh := b.plan.Shuffle
	if sh == nil {
		return files.FlatMap("read_windows", read)
	}
	d := b.shuffle(files, sh.Filenames, streamNames, epoch)
	d = d.Interleave("read_windows", read, b.interleaveOptions())
	return b.shuffle(d, sh.Elements, streamRecords, epoch)
}
