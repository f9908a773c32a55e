package loaders

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// epochs builds all epochs, one pass over the files after the other. A repeat
// would do without the function, but does not tell the epoch's number, by
// which the sizes of windows are drawn and everything is shuffled: a shuffle
// that draws a new order for each repetition does not find it again when a
// state was saved after its last element and before the next epoch's first.
func (b *builder) epochs(pass func(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset) *dataset.Dataset {
	n := b.plan.Epochs
	if n == 0 {
		n = math.MaxInt64
	}
	return dataset.Range(b.scope, 0, n, 1).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return pass(s, args[0])
	})
}

// windowPass builds the windows of one epoch: file names, their shuffle, the
// interleave of the files' windows and the shuffle of those.
func (b *builder) windowPass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	read := func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return b.fileWindows(s, epoch, args)
	}
	files := b.files(s)
	sh := b.plan.Shuffle
	if sh == nil {
		return files.FlatMap("read_windows", read)
	}
	d := b.shuffle(files, sh.Filenames, streamNames, epoch)
	o := b.interleaveOptions()
	if o.Parallel == 1 {
		o.Parallel = 0 // handing every window from thread to thread takes longer than to cut it
	}
	d = d.Interleave("read_windows", read, o)
	return b.shuffle(d, sh.Elements, streamRecords, epoch)
}

// shuffle shuffles the elements of one epoch, with a seed that no other epoch
// and no other stream has.
func (b *builder) shuffle(d *dataset.Dataset, buffer, stream int64, epoch tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	seed, first := b.seeds(stream)
	seed2 := graph.Add(s, graph.Mul(s, epoch, s.Const(int64(streams))), s.Const(first))
	return d.ShuffleOutput(buffer, s.Const(seed), seed2)
}

// files lists the files: name, number of records (-1 if not counted) and
// ordinal.
func (b *builder) files(s *graph.Scope) *dataset.Dataset {
	var names []string
	var counts, ordinals []int64
	for i, f := range b.plan.Files {
		names = append(names, f.Path)
		counts = append(counts, b.scan.count(i))
		ordinals = append(ordinals, int64(i))
	}
	return dataset.FromSlices(s, s.Const(names), s.Const(counts), s.Const(ordinals))
}
