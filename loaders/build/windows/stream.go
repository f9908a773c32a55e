package windows

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// Stream builds the windows of all epochs: one by one if they are shuffled or if steps draw
// random numbers, else in groups. Where the plan seeks it begins at window b.Skip.
func (b *Builder) Stream() *dataset.Dataset {
	switch {
	case b.ByPosition:
		return b.byPosition()
	case b.Engine.Seeks():
		return b.From(b.pass, b.resumed)
	case b.Engine.Replays():
		return b.Replayed(b.pass)
	}
	return b.All(b.pass)
}

// ofFile builds the windows of one file, given its name, number of
// records and ordinal: one by one if they are shuffled later, else in groups.
func (b *Builder) ofFile(s *graph.Scope, epoch tfbridge.Output, file []tfbridge.Output) *dataset.Dataset {
	if b.Engine.Native().Applied {
		return b.nativeOfFile(s, epoch, file)
	}
	d := b.blocks.read(s, file)
	c := &cutter{layout: b.blocks.layout, window: b.blocks.window}
	if b.blocks.window.Min != b.blocks.window.Max {
		c.sizes = newDraws(s, b.blocks.window, b.Seed, streamOf(s, epoch, file[2]))
	}
	d = d.Scan("cut", c.initial(s, d.Specs()), c.cut)
	d = d.Filter("any_windows", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[0]), s.Const(int64(0)))
	})
	d = b.groups(d)
	if b.Draws() {
		return numbered(b.Target, d.Unbatch(), epoch, file[2])
	}
	if b.Shuffling != nil {
		return d.Unbatch()
	}
	return d
}

// groups makes tensors of the windows of a block.
func (b *Builder) groups(d *dataset.Dataset) *dataset.Dataset {
	if b.blocks.window.Stride == 0 {
		return d.Map("windows", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return b.blocks.rows(s, args[0], args[1], args[windowEnds:])
		}, target.Inline())
	}
	// Overlapping windows are copied, so the windows of a block may be many times as
	// large as the block. So only a limited number is made at a time.
	return d.FlatMap("windows", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		ends := dataset.FromSlices(s, args[0], args[1]).Batch(b.Engine.WindowsAtOnce(), false)
		return ends.Map("group", func(s *graph.Scope, ends []tfbridge.Output) []tfbridge.Output {
			return b.blocks.rows(s, ends[0], ends[1], args[windowEnds:])
		}, target.Inline())
	})
}

// pass builds the windows of one epoch: file names, their shuffle, the
// interleave of the files' windows and the shuffle of those.
func (b *Builder) pass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	read := func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return b.ofFile(s, epoch, args)
	}
	if b.Shuffling == nil {
		return b.ListFiles(s).FlatMap("read_windows", read)
	}
	return b.Mixed(s, epoch, "read_windows", read)
}

// Probe looks for one window in the files, in order.
func (b *Builder) Probe() *dataset.Dataset { return b.pass(b.Scope, b.Scope.Const(int64(0))) }
