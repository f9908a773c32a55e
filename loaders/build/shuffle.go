package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
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
