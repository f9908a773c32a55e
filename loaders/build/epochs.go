package build

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
	return dataset.Range(b.scope, 0, b.endOfEpochs(), 1).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return pass(s, args[0])
	})
}

// endOfEpochs returns the number behind that of the last epoch.
func (b *builder) endOfEpochs() int64 {
	if n := b.epochCount(); n > 0 {
		return n
	}
	return math.MaxInt64
}

// repeats returns RepeatDataset's count.
func (b *builder) repeats() int64 {
	if n := b.epochCount(); n > 0 {
		return n
	}
	return -1
}

// epochCount returns how many epochs to build, 0 for an endless dataset. Where
// there are no records one epoch gives what all of them give, nothing. tf.data
// would begin one after the other, which takes hours for 2^31 of them.
func (b *builder) epochCount() int64 {
	if records, known := b.scan.Records(); known && records == 0 {
		return min(b.plan.Epochs, 1)
	}
	return b.plan.Epochs
}
