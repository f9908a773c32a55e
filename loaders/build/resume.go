package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/feed"
	"millrace/loaders/plan"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// # How a shuffled epoch is resumed
//
// The question: a shuffle buffer holds what was read and not yet delivered. tf.data saves
// all of it, 100 MB for a thousand records of 100 KB, and a run cannot go on without it.
//
// What was tried: to read the epoch from its begin, and to leave out what was delivered
// before. The state is small then, but resuming late in a large epoch takes as long as
// the epoch took.
//
// The answer: tf.data draws from a buffer by its seed and the number of elements, whatever
// they are. So the epoch that was interrupted is shuffled once more with the numbers of
// the examples in place of the examples. That takes a microsecond each. The numbers
// before the position are left out, and the examples of the others are read by their
// place. The next epoch is read as usual.
//
//	usual      files ── names shuffled ── records mixed ── shuffled ───────────────────── records
//	resumed    files ── names shuffled ── numbers mixed ── shuffled ── skipped ── read ── records
//
// A state is the position alone, as where records are read by their place. See
// [engine.Choice.Seeks].

// epochsFrom builds all epochs from example b.skip on. resumed builds what is left of an
// epoch behind so many of its examples, which are more than none.
func (b *builder) epochsFrom(pass func(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset, resumed func(s *graph.Scope, epoch, behind tfbridge.Output) *dataset.Dataset) *dataset.Dataset {
	s := b.scope
	size := b.epochSize(s)
	first, behind := graph.FloorDiv(s, b.skip, size), graph.FloorMod(s, b.skip, size)
	whole := graph.Add(s, first, graph.Minimum(s, behind, s.Const(int64(1))))
	begun := dataset.RangeOutput(s, first, whole).FlatMap("resumed_epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return resumed(s, args[0], behind)
	})
	return begun.Concatenate(dataset.RangeOutput(s, whole, s.Const(b.endOfEpochs())).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return pass(s, args[0])
	}))
}

// epochSize returns how many examples an epoch has, and 1 for none.
func (b *builder) epochSize(s *graph.Scope) tfbridge.Output {
	return s.Const(max(order.EpochExamples(b.plan.Spec, b.scan), 1))
}

// shuffledNumbers yields the numbers of the examples of an epoch, in its order, behind so
// many of them.
func (b *builder) shuffledNumbers(s *graph.Scope, epoch, behind tfbridge.Output) *dataset.Dataset {
	before := order.New(order.InFile(b.plan.Spec), b.scan).Before()
	files := dataset.FromSlices(s, s.Const(before[:len(before)-1]), s.Const(before[1:]))
	o := b.interleaveOptions()
	o.Parallel = 0
	d := b.shuffle(files, b.plan.Shuffle.Filenames, streamNames, epoch)
	d = d.Interleave("number_file", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return dataset.RangeOutput(s, args[0], args[1])
	}, o)
	return b.shuffle(d, b.plan.Shuffle.Elements, streamRecords, epoch).SkipOutput(behind)
}

// Numbers are the numbers of the examples of a plan that shuffles them in buffers, in the
// order in which the plan's own dataset yields the examples, through all epochs. They count
// the examples of all files in the order of these.
type Numbers struct {
	Init *tfbridge.Operation
	Skip tfbridge.Output // int64 scalar, fed to Init: numbers left out at the start
	Next tfbridge.Output // int64 vector: the next numbers
}

// numbersAtOnce is how many numbers come in one run of a session.
const numbersAtOnce = 1024

// NewNumbers adds the numbers of a plan's examples to a graph. The plan must be one that
// [order.CheckPlaces] accepts.
func NewNumbers(g *tfbridge.Graph, p *plan.Plan, scan *plan.Scan) (*Numbers, error) {
	b := &builder{plan: p, scan: scan, scope: graph.NewScopeWithGraph(g)}
	b.skip = b.scope.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	whole := func(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
		return b.shuffledNumbers(s, epoch, s.Const(int64(0)))
	}
	d := b.epochsFrom(whole, b.shuffledNumbers).Batch(numbersAtOnce, false)
	it := d.WithOptions(&dataset.Options{NoAutotune: true, NoOptimization: true}).Finalize().Iterator("numbers")
	if err := b.scope.Err(); err != nil {
		return nil, b.fail(err)
	}
	return &Numbers{Init: it.Init, Skip: b.skip, Next: it.Next[0]}, nil
}

// resumedRecords is [builder.shuffledPass] behind so many records.
func (b *builder) resumedRecords(s *graph.Scope, epoch, behind tfbridge.Output) *dataset.Dataset {
	return b.read(b.shuffledNumbers(s, epoch, behind))
}

// resumedWindows is [windowBuilder.windowPass] behind so many windows.
func (b *windowBuilder) resumedWindows(s *graph.Scope, epoch, behind tfbridge.Output) *dataset.Dataset {
	atOnce := graph.Maximum(s, graph.FloorDiv(s, b.group, s.Const(order.WindowRecords(b.plan.Spec))), s.Const(int64(1)))
	numbers := b.shuffledNumbers(s, epoch, behind).BatchOutput(atOnce, false)
	d := b.readNumbers(numbers, "read_window_numbers", b.source().WindowNumbers(), stringVector, int64Vectors, int64Vectors)
	shuffled := b.plan
	defer func() { b.plan, b.stored = shuffled, false }()
	b.stored = b.plan.Engine().Native().Applied && b.plan.Engine().EqualWindows()
	b.plan = b.plan.InFileOrder() // the windows of a group are no neighbours
	return d.Map("windows", b.placedWindows, inline).Unbatch()
}

var (
	stringVector = graph.Spec{DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}
	int64Vectors = graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}
)

// readNumbers has Go read the examples of vectors of numbers. The state of the scan is a
// token, by which a call finds the open files.
func (b *builder) readNumbers(numbers *dataset.Dataset, name string, fn feed.Func, results ...graph.Spec) *dataset.Dataset {
	out := append([]graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}, results...)
	return numbers.Scan(name, []tfbridge.Output{numbers.Scope().Const(int64(0))}, func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output) {
		x := graph.GoFunction(s, graph.GoFunc{Name: name, Out: out, Fn: fn, Pure: true}, state[0], args[0])
		if s.Err() != nil {
			return nil, nil
		}
		return x[:1], x[1:]
	})
}
