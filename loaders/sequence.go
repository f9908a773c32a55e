package loaders

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// tailDrop is the value of "tail" that drops a window cut short by the end of
// its file.
const tailDrop = "drop"

// tailPad is the value that fills such a window up.
const tailPad = "pad"

// inline is how small functions are called.
var inline = &dataset.MapOptions{Inline: true}

// windowBatches builds the sequence loaders up to their batches.
//
// Windows of one shape become the plan's tensors group by group, as soon as
// they are cut. Others travel as ragged rows and become tensors batch by
// batch: a function call for each window would take longer than all the rest.
func (b *builder) windowBatches() *dataset.Dataset {
	if b.plan.native().Applied {
		return b.nativeWindowBatches()
	}
	d := b.epochs(b.windowPass)
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
	if b.plan.equalWindows() {
		return d
	}
	return d.Map("assemble", b.assembleRagged, inline)
}

// equalWindows reports whether all windows have one shape.
func (p *Plan) equalWindows() bool {
	if p.Window.Min != p.Window.Max {
		return false
	}
	return p.Type == ContinuousSequence || !slices.ContainsFunc(p.Features, func(f *Feature) bool {
		return f.VarLen || f.TensorShape()[0] > maxDimension/p.Window.Min
	})
}

// fileWindows builds the windows of one file, given its name, number of
// records and ordinal: one by one if they are shuffled later, else in groups.
func (b *builder) fileWindows(s *graph.Scope, epoch tfbridge.Output, file []tfbridge.Output) *dataset.Dataset {
	if b.plan.native().Applied {
		return b.nativeFileWindows(s, epoch, file)
	}
	d := b.chunks(s, file[0], file[1])
	c := &cutter{plan: b.plan}
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

// groups makes tensors of the windows of a chunk.
func (b *builder) groups(d *dataset.Dataset) *dataset.Dataset {
	if b.plan.Window.Stride == 0 {
		return d.Map("windows", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return b.windowRows(s, args[0], args[1], args[windowEnds:])
		}, inline)
	}
	// Windows that overlap are copied, so that a chunk of them may be many
	// times the chunk: only so many at a time.
	return d.FlatMap("windows", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		ends := dataset.FromSlices(s, args[0], args[1]).Batch(b.plan.windowGroup(), false)
		return ends.Map("group", func(s *graph.Scope, ends []tfbridge.Output) []tfbridge.Output {
			return b.windowRows(s, ends[0], ends[1], args[windowEnds:])
		}, inline)
	})
}
