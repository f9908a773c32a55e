// Package source reads the records of all epochs, in their order. It also repeats, shuffles
// and resumes epochs of any elements.
package source

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// Epochs builds passes over the data, one for each epoch.
type Epochs struct{ *target.Target }

// PassFunc builds the elements of one epoch, given its number.
type PassFunc = func(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset

// All builds all epochs, one pass over the files after the other. A repeat would not
// need the function, but does not give the epoch's number, on which the sizes of
// windows and all shuffling depend. A shuffle that draws a new order for each
// repetition loses it if a state was saved after its last element and before the next
// epoch's first.
func (e *Epochs) All(pass PassFunc) *dataset.Dataset {
	if e.Epoch.Op != nil {
		return pass(e.Scope, e.Epoch)
	}
	return dataset.Range(e.Scope, 0, e.End(), 1).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return pass(s, args[0])
	})
}

// End returns the number after the last epoch.
func (e *Epochs) End() int64 {
	if n := e.epochCount(); n > 0 {
		return n
	}
	return math.MaxInt64
}

// end returns the number after the last epoch that is built, an int64 scalar.
func (e *Epochs) end() tfbridge.Output {
	if e.Epoch.Op != nil {
		return graph.Add(e.Scope, e.Epoch, e.Scope.Const(int64(1)))
	}
	return e.Scope.Const(e.End())
}

// Repeats returns RepeatDataset's count.
func (e *Epochs) Repeats() int64 {
	if e.Epoch.Op != nil {
		return 1
	}
	if n := e.epochCount(); n > 0 {
		return n
	}
	return -1
}

// epochCount returns how many epochs to build, 0 for an endless dataset. If there are
// no records, one epoch gives the same as all of them: nothing. tf.data would begin one
// after the other, which takes hours for 2^31 epochs.
func (e *Epochs) epochCount() int64 {
	if records, known := e.Scan.Records(); known && records == 0 {
		return min(e.Repeat.Epochs, 1)
	}
	return e.Repeat.Epochs
}

// Streams of random draws: each takes its own seeds from the plan's seed.
const (
	StreamNames   = 1
	StreamRecords = 2
	StreamChunks  = 3

	streams = 4 // more than there are
)

// seeds returns the seeds of one stream of random draws. Seeds of 0, 0 would
// mean a fresh seed to TensorFlow; the stream number rules that out.
func (e *Epochs) seeds(stream int64) (int64, int64) { return e.Seed, stream }

// Shuffle shuffles the elements of one epoch, with a seed that no other epoch
// and no other stream has.
func (e *Epochs) Shuffle(d *dataset.Dataset, buffer, stream int64, epoch tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	seed, first := e.seeds(stream)
	seed2 := graph.Add(s, graph.Mul(s, epoch, s.Const(int64(streams))), s.Const(first))
	return d.ShuffleOutput(buffer, s.Const(seed), seed2)
}
