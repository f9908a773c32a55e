package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Streams of random draws: each takes seeds of its own from the plan's seed.
const (
	streamNames   = 1
	streamRecords = 2
	streamChunks  = 3

	streams = 4 // more than there are
)

// seeds returns the seeds of one stream of random draws. Seeds of 0, 0 would
// mean a fresh seed to TensorFlow; the stream number rules that out.
func (b *builder) seeds(stream int64) (int64, int64) { return b.plan.Seed, stream }

// shuffle shuffles the elements of one epoch, with a seed that no other epoch
// and no other stream has.
func (b *builder) shuffle(d *dataset.Dataset, buffer, stream int64, epoch tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	seed, first := b.seeds(stream)
	seed2 := graph.Add(s, graph.Mul(s, epoch, s.Const(int64(streams))), s.Const(first))
	return d.ShuffleOutput(buffer, s.Const(seed), seed2)
}

// draws makes the random sizes of the windows of one file in one epoch. The
// numbers come from a counter, not from a state: window k has the same size
// whatever is read at once, and after a restore.
type draws struct {
	window *spec.Window
	key    tfbridge.Output
	stream tfbridge.Output // epoch and file, which give every pass of a file numbers of its own
}

// newDraws returns the draws of a file. Epoch and file fill one word of the
// counter, so that no two files of any two epochs share numbers.
func (b *builder) newDraws(s *graph.Scope, epoch, file tfbridge.Output) *draws {
	return &draws{
		window: b.plan.Window,
		key:    s.Const([]uint64{uint64(b.plan.Seed)}),
		stream: graph.Add(s, graph.Mul(s, epoch, s.Const(int64(1)<<32)), file),
	}
}

// sizes returns the sizes of n windows from window k on. One step of the
// counter gives two numbers.
func (d *draws) sizes(s *graph.Scope, k, n tfbridge.Output) tfbridge.Output {
	two := s.Const(int64(2))
	skip := graph.FloorMod(s, k, two)
	counter := graph.Pack(s, []tfbridge.Output{graph.FloorDiv(s, k, two), d.stream}, 0)
	end := graph.Add(s, skip, n)
	drawn := graph.StatelessRandomUniformIntAt(s, graph.ExpandDims(s, end, 0),
		d.key, graph.Cast(s, counter, tfbridge.Uint64),
		s.Const(d.window.Min), s.Const(d.window.Max+1))
	return graph.Rows(s, drawn, skip, end)
}
