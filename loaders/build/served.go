package build

import (
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/graph/dataset/service"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// # How the workers of a data service make a loader's batches
//
// The question: TensorFlow's data service gives what its workers yield in any order, and
// nothing of what a worker had drawn when it died. How can the batches be the same as in one process,
// each once, and the state of a run a position in the order?
//
// The answer: a position says which record comes, so a block of positions says which rows. The
// unit of work is the number of a block. A function makes the rows of a number; workers call it
// for the numbers that they draw, and this process for those that do not come.
//
//	worker   numbers (drawn) ── block(number) ── number, rows
//	here     number, rows ── in order, each once ── batches
//	                              │
//	                        block(number)
//
// The function builds all stages before the batch, for the positions of the block alone. A run
// that continues at a position asks for the block of that position and those after it, and drops
// the rows before the position.
//
// With order any the blocks come as they arrive. Then a state is a position and the parts of the
// order before it that are missing: a run that continues asks for their blocks first.

// servedBlocks adds the dataset of a plan whose stages workers carry out.
func servedBlocks(t *target.Target, at *spec.Service) (*dataset.Dataset, error) {
	s, b := t.Scope, newBlocks(t)
	batch, ok := stage.Find[stage.Batch](t.Stages)
	if !ok || b.records == 0 || b.total == 0 {
		return nil, millrace.Errorf(millrace.ErrConfig, "there is nothing that the workers of a data service could read; leave the key service away")
	}
	// The blocks before the position come first, and then its own and all after it.
	first, before := graph.FloorDiv(s, t.Skip, s.Const(b.rows)), graph.Cast(s, graph.Size(s, t.Blocks), tfbridge.Int64)
	begins := graph.ConcatV2(s, []tfbridge.Output{t.Blocks, graph.ExpandDims(s, first, 0)}, 0)
	count := graph.Add(s, before, graph.Maximum(s, graph.Sub(s, s.Const(b.last), first), s.Const(int64(0))))
	made := dataset.RangeOutput(s, s.Const(int64(0)), count).Map("block", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		if len(args) == 0 {
			return nil
		}
		number := graph.Add(s, graph.GatherV2(s, begins, graph.Minimum(s, args[0], before), 0),
			graph.Maximum(s, graph.Sub(s, args[0], before), s.Const(int64(0))))
		return append([]tfbridge.Output{number}, b.make(s, number)...)
	}, &dataset.MapOptions{Parallel: max(t.Parse.Parallel, blocksAtOnce)}).Prefetch(blocksAtOnce)
	given := service.Distribute(made, t.ServiceAddress, &service.Options{Sharding: service.Dynamic, Local: at.Worker != nil && at.Worker.Only})
	o := &native.BlocksOptions{Rows: b.rows, Start: t.Skip, Last: b.last, Buffered: at.BufferedBlocks, WaitMS: at.WaitMS, Missing: t.Held, AnyOrder: at.AnyOrder}
	d := native.GatherBlocks(given, o, b.make).Rebatch(batch.Size, batch.Full())
	if p, ok := stage.Find[stage.Prefetch](t.Stages); ok {
		d = d.Prefetch(p.Batches)
	}
	return d, b.err
}

// blocksAtOnce is how many blocks a worker makes at the same time, at least, and how many it has
// ready.
const blocksAtOnce = 2

// blocks makes the blocks of a plan.
type blocks struct {
	*target.Target
	records int64 // the size of an epoch
	total   int64 // positions of all epochs
	rows    int64 // the size of a block
	last    int64 // the number after the last block
	lengths tfbridge.Output
	err     error
}

func newBlocks(t *target.Target) *blocks {
	b := &blocks{Target: t, records: order.EpochExamples(t.Spec, t.Scan), lengths: source.New(t).Lengths(t.Scope)}
	b.rows = engine.BlockRows(t.Engine, t.Scan)
	b.total = math.MaxInt64 / 4
	if n := t.Repeat.Epochs; n > 0 && b.records > 0 && n < b.total/b.records {
		b.total = n * b.records
	}
	if b.records == 0 {
		b.total = 0
	}
	b.last = (b.total + b.rows - 1) / b.rows
	return b
}

// make adds the rows of a block to a function. number is an int64 scalar.
func (b *blocks) make(s *graph.Scope, number tfbridge.Output) []tfbridge.Output {
	begin := graph.Mul(s, number, s.Const(b.rows))
	choice := engine.OfBlock(b.Engine, b.rows)
	t := target.New(s, stage.Of(choice), choice)
	t.Scan, t.Spec, t.Seed = b.Scan, choice.Spec, b.Seed
	t.Fixed = &target.Fixed{Group: b.rows, Skip: 1}
	t.Group, t.Prefetch, t.Skip = s.Const(b.rows), s.Const(int64(0)), begin
	t.Stop, t.RecordLengths = graph.Minimum(s, graph.Add(s, begin, s.Const(b.rows)), s.Const(b.total)), b.lengths
	d, err := stagesOf(t)
	if err != nil {
		b.err = err
		return nil
	}
	b.Share(t)
	rows := d.SingleElement()
	if s.Err() != nil {
		return nil
	}
	made := make([]tfbridge.Output, len(t.Out.Tensors))
	for i := range made {
		from := i
		if t.Order != nil {
			from = t.Order[i]
		}
		made[i] = graph.Identity(s, rows[from])
	}
	return made
}

// startWorker sets the address of the plan's service, and starts the worker of this process if the
// plan has one.
func startWorker(t *target.Target) error {
	at := t.Service()
	if at == nil {
		return nil
	}
	t.ServiceAddress = at.Address
	if at.Worker == nil {
		return nil
	}
	address, err := service.Here(&service.HereOptions{Dispatcher: at.Address, Host: at.Worker.Host, Port: int(at.Worker.Port)})
	if err != nil {
		e := millrace.Errorf(millrace.ErrRuntime, "start a worker of the data service in this process: %w", err)
		e.Loader, e.Key = t.Spec.Path, "service"
		return e
	}
	t.ServiceAddress = address
	return nil
}

// report adds an iterator over what the workers of the plan's service are, and whether they see
// its files; nil without a service.
func report(t *target.Target) (*dataset.Iterator, error) {
	at := t.Service()
	if at == nil {
		return nil, nil
	}
	s := t.Scope.SubScope("report")
	paths, _ := t.CountedFiles()
	sizes := make([]int64, len(paths))
	for i, f := range t.Files.List {
		sizes[i] = f.Size
	}
	d := dataset.Range(s, 0, 1, 1).Map("report", func(s *graph.Scope, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{native.ServiceReport(s, s.Const(paths), s.Const(sizes))}
	}, nil)
	return service.Distribute(d, t.ServiceAddress, &service.Options{Local: at.Worker != nil && at.Worker.Only}).Iterator("iterator"), s.Err()
}
