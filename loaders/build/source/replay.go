package source

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// # How an epoch of chunks, or of windows of drawn sizes, is resumed
//
// The question: a state must not hold what buffers hold, and neither chunks nor windows
// of drawn sizes have numbers by which they could be read: where they begin depends on
// the data, or on draws. See resume.go for elements with numbers.
//
// The answer: the epoch is read once more, in which all draws are the same, and what was
// delivered is skipped. Epochs before it are not read. To continue late in a long epoch takes
// as long as reading that epoch up to there.
//
// How does a run know where it is? What is prefetched has passed the end of an epoch long
// before the loop has. So each element has a number after its components: the
// epoch in the upper bits, and its place in the epoch in the lower ones.

// replayBits is how many bits the place in an epoch takes.
const replayBits = 40

// ReplayNumber returns the number of an element.
func ReplayNumber(epoch, place int64) int64 { return epoch<<replayBits | place }

// ReplayPosition returns epoch and place of a number.
func ReplayPosition(number int64) (epoch, place int64) {
	return number >> replayBits, number & (1<<replayBits - 1)
}

// Replayed builds the elements of all epochs from element number e.Skip on, with their
// numbers unless the dataset is fixed.
func (e *Epochs) Replayed(pass PassFunc) *dataset.Dataset {
	if e.FromStart() {
		return e.All(pass)
	}
	s, size := e.Scope, e.Scope.Const(ReplayNumber(1, 0))
	first, behind := e.replayFrom()
	return dataset.RangeOutput(s, first, e.end()).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		epoch := args[0]
		begin := graph.Mul(s, behind, graph.Cast(s, graph.Equal(s, epoch, first), tfbridge.Int64))
		if !e.NumbersElements() {
			return pass(s, epoch).SkipOutput(begin)
		}
		numbers := dataset.RangeOutput(s, graph.Add(s, graph.Mul(s, epoch, size), begin), s.Const(int64(math.MaxInt64)))
		return dataset.Zip(s, pass(s, epoch).SkipOutput(begin), numbers)
	})
}

// replayFrom returns the epoch of number e.Skip and its place there.
func (e *Epochs) replayFrom() (epoch, place tfbridge.Output) {
	size := e.Scope.Const(ReplayNumber(1, 0))
	return graph.FloorDiv(e.Scope, e.Skip, size), graph.FloorMod(e.Scope, e.Skip, size)
}

// MapFunc makes the components of an element from the components of another one.
type MapFunc = func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output

// Numbered returns fn for elements that may carry their numbers as a last component, which
// it passes through.
func (e *Epochs) Numbered(fn MapFunc) MapFunc {
	if !e.NumbersElements() {
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
