package build

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// # How an epoch of chunks, or of windows of drawn sizes, is resumed
//
// The question: a state must not hold what buffers hold, and neither chunks nor windows of
// drawn sizes have numbers by which they could be read: where they begin depends on the
// data, or on draws. See resume.go for those that have.
//
// The answer: the epoch is read once more, in which all draws are the same, and what was
// delivered is left out. Epochs before it are not read. To go on late in a long epoch takes
// as long as reading that epoch up to there.
//
// How does a run know where it is? What is prefetched has passed the end of an epoch long
// before the loop has. So each element has a number behind its components: the
// epoch in the upper bits, and its place in the epoch in the lower ones.

// replayBits is how many bits the place in an epoch takes.
const replayBits = 40

// ReplayNumber returns the number of an element.
func ReplayNumber(epoch, place int64) int64 { return epoch<<replayBits | place }

// ReplayPlace returns epoch and place of a number.
func ReplayPlace(number int64) (epoch, place int64) {
	return number >> replayBits, number & (1<<replayBits - 1)
}

// replayedEpochs builds the elements of all epochs from element number b.skip on, with their
// numbers.
func (b *builder) replayedEpochs(pass func(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset) *dataset.Dataset {
	s, size := b.scope, b.scope.Const(ReplayNumber(1, 0))
	first, behind := b.replayFrom()
	return dataset.RangeOutput(s, first, s.Const(b.endOfEpochs())).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		epoch := args[0]
		begin := graph.Mul(s, behind, graph.Cast(s, graph.Equal(s, epoch, first), tfbridge.Int64))
		numbers := dataset.RangeOutput(s, graph.Add(s, graph.Mul(s, epoch, size), begin), s.Const(int64(math.MaxInt64)))
		return dataset.Zip(s, pass(s, epoch).SkipOutput(begin), numbers)
	})
}

// replayedRecords builds the records of all epochs from number b.skip on.
func (b *builder) replayedRecords() *dataset.Dataset {
	first, behind := b.replayFrom()
	return dataset.RangeOutput(b.scope, first, b.scope.Const(b.endOfEpochs())).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		begun := graph.Cast(s, graph.Equal(s, args[0], first), tfbridge.Int64)
		return b.shuffledPass(s, args[0]).SkipOutput(graph.Mul(s, behind, begun))
	})
}

// replayFrom returns the epoch of number b.skip and its place there.
func (b *builder) replayFrom() (epoch, place tfbridge.Output) {
	size := b.scope.Const(ReplayNumber(1, 0))
	return graph.FloorDiv(b.scope, b.skip, size), graph.FloorMod(b.scope, b.skip, size)
}

// numbered has a function of elements leave the numbers behind them alone.
func (b *builder) numbered(fn func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output) func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	if !b.plan.Engine().NumbersElements() {
		return fn
	}
	return func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		if len(args) == 0 {
			return nil // the scope has failed
		}
		number := args[len(args)-1]
		return append(fn(s, args[:len(args)-1]), number)
	}
}
