package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/feed"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// # How a shuffled epoch is resumed
//
// The question: a shuffle buffer holds what was read and not yet delivered. tf.data saves
// all of it, 100 MB for a thousand records of 100 KB, and a run cannot continue without it.
//
// A first attempt read the epoch from its start, and skipped the elements delivered
// before. Then the state is small, but resuming late in a large epoch takes as long as
// the epoch took.
//
// The answer: tf.data draws from a buffer by its seed and the number of elements, whatever
// they are. So the epoch that was interrupted is shuffled once more with the numbers of
// the examples in place of the examples. That takes a microsecond each. The numbers
// before the position are skipped, and the examples of the others are read by their
// place. The next epoch is read as usual.
//
//	usual      files ── names shuffled ── records mixed ── shuffled ───────────────────── records
//	resumed    files ── names shuffled ── numbers mixed ── shuffled ── skipped ── read ── records
//
// A state is the position alone, as where records are read by their place. See
// [engine.Choice.Seeks].

// ResumeFunc builds the rest of an epoch after the first n of its examples. n is at least 1.
type ResumeFunc = func(s *graph.Scope, epoch, n tfbridge.Output) *dataset.Dataset

// From builds all epochs from example e.Skip on. From the start no example is resumed.
func (e *Epochs) From(pass PassFunc, resumed ResumeFunc) *dataset.Dataset {
	if e.FromStart() {
		return e.All(pass)
	}
	s := e.Scope
	size := e.Size(s)
	first, behind := graph.FloorDiv(s, e.Skip, size), graph.FloorMod(s, e.Skip, size)
	whole := graph.Add(s, first, graph.Minimum(s, behind, s.Const(int64(1))))
	begun := dataset.RangeOutput(s, first, whole).FlatMap("resumed_epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return resumed(s, args[0], behind)
	})
	return begun.Concatenate(dataset.RangeOutput(s, whole, e.end()).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return pass(s, args[0])
	}))
}

// Size returns how many examples an epoch has, and 1 for none.
func (e *Epochs) Size(s *graph.Scope) tfbridge.Output {
	return s.Const(max(order.EpochExamples(e.Spec, e.Scan), 1))
}

// ShuffledNumbers yields the numbers of the examples of an epoch, in its order, after the
// first n.
func (e *Epochs) ShuffledNumbers(s *graph.Scope, epoch, n tfbridge.Output) *dataset.Dataset {
	before := order.New(order.InFile(e.Spec), e.Scan).Before()
	files := dataset.FromSlices(s, s.Const(before[:len(before)-1]), s.Const(before[1:]))
	o := e.interleaveOptions()
	o.Parallel = 0
	d := e.Shuffle(files, e.Files.Buffer, StreamNames, epoch)
	d = d.Interleave("number_file", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return dataset.RangeOutput(s, args[0], args[1])
	}, o)
	return e.Shuffle(d, e.Shuffling.Buffer, StreamRecords, epoch).SkipOutput(n)
}

// Results of calls of Go.
var (
	StringVector = graph.Spec{DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}
	Int64Vector  = graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}
)

// ReadNumbers makes Go read the examples of vectors of numbers. The state of the scan
// is a token, by which a call finds the open files.
func ReadNumbers(numbers *dataset.Dataset, name string, fn feed.Func, results ...graph.Spec) *dataset.Dataset {
	out := append([]graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}, results...)
	return numbers.Scan(name, []tfbridge.Output{numbers.Scope().Const(int64(0))}, func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output) {
		x := graph.GoFunction(s, graph.GoFunc{Name: name, Out: out, Fn: fn, Pure: true}, state[0], args[0])
		if s.Err() != nil {
			return nil, nil
		}
		return x[:1], x[1:]
	})
}
