package datapipeline

import (
	"cmp"
	"context"

	"millrace/graph"
	"millrace/graph/queue"
	"millrace/tfbridge"
)

// # Batches in the graph
//
// Rows, which are chunks or whole sequences, go into a padding queue one by one. How
// many of them are a batch is known only when the first row comes that does not fit.
// So that number goes through a second queue:
//
//	rows    [ r r r | r r r r | r r      <- one row at a time
//	counts  [ 3 | 4                      <- a number when a batch is complete
//
// To dequeue a batch is to dequeue its number n, and then n rows, which are there. The
// padding queue stacks and pads them. The queue of counts has a capacity and that of
// rows has none, so a batch of any number of rows fits.
//
// One run of the loop makes one batch: it moves rows until one does not fit, which is
// the first row of the next batch. The loop's variables of that row go from run to
// run through Go: two small tensors a batch.

// TFBatchingQueue puts rows together to batches in the graph. [NewTFBatchingQueue]
// makes one.
type TFBatchingQueue struct {
	activity
	// Output is a batch: the components of the data queues by name, stacked and
	// padded with zeros and empty strings. Each run that computes with any of them
	// takes a batch, and waits for it.
	Output map[string]tfbridge.Output

	externData   *ExternData
	batching     Batching
	source       *TFDataQueues
	rows, counts *queue.Queue

	started []tfbridge.Output // placeholders: number and longest lengths of the rows that the batch has
	next    []tfbridge.Output // the same of the next batch, and whether the epoch has ended
	made    *tfbridge.Operation
	count   tfbridge.Output // how many batches wait
	runs    runs
}

// TFBatchingQueueOptions are the options of a TFBatchingQueue.
type TFBatchingQueueOptions struct {
	Batching
	Capacity int // batches; 0: 10
}

// NewTFBatchingQueue adds a queue of batches to a graph. The data queues must be
// without a batch dimension.
func NewTFBatchingQueue(s *graph.Scope, externData *ExternData, source *TFDataQueues, o *TFBatchingQueueOptions) *TFBatchingQueue {
	q := &TFBatchingQueue{externData: externData, batching: o.Batching, source: source}
	if err := o.check(); err != nil {
		s.UpdateErr("TFBatchingQueue", err)
	}
	if s.Err() != nil {
		return q
	}
	s = s.SubScope("batching").WithDevice("/cpu:0")
	specs := source.EvalQueue.specs
	q.rows = queue.NewPaddingFIFO(s, queue.Unbounded, specs, &queue.Options{Name: "rows"})
	q.counts = queue.NewFIFO(s, cmp.Or(o.Capacity, 10), []graph.Spec{{DType: tfbridge.Int32, Shape: tfbridge.ScalarShape()}}, &queue.Options{Name: "counts"})
	q.count = q.counts.Size(s)
	q.addLoop(s)
	n := q.counts.Dequeue(s)
	if s.Err() != nil {
		return q
	}
	q.Output = q.rows.ToMap(q.rows.DequeueMany(s, n[0]))
	return q
}

// The variables of the loop that makes a batch.
const (
	batchRows    = iota // int64: rows that fit
	batchLongest        // int64 vector: the longest of them, for each key with a time axis
	nextRows            // int64: 1 if there is a row that does not fit
	nextLongest         // int64 vector: its lengths
	batchDone           // bool
	epochDone           // bool
)

// addLoop adds the loop that makes a batch.
func (q *TFBatchingQueue) addLoop(s *graph.Scope) {
	keys := q.externData.timeKeys()
	zero, zeros, no := s.Const(int64(0)), s.Zeros(tfbridge.Int64, int64(len(keys))), s.Const(false)
	q.started = []tfbridge.Output{
		s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape()),
		s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(int64(len(keys)))),
	}
	vars := graph.While(s, []tfbridge.Output{q.started[0], q.started[1], zero, zeros, no, no},
		func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output { return graph.LogicalNot(s, v[batchDone]) },
		q.addRow, &graph.WhileOptions{ParallelIterations: 1})
	if s.Err() != nil {
		return
	}
	some := graph.Greater(s, vars[batchRows], zero)
	q.made = effect(s, some, func(s *graph.Scope) *tfbridge.Operation {
		return q.counts.Enqueue(s, graph.Cast(s, vars[batchRows], tfbridge.Int32))
	}, nothing)
	q.next = []tfbridge.Output{vars[nextRows], vars[nextLongest], vars[epochDone]}
}

// addRow is the body of the loop: it moves one row.
func (q *TFBatchingQueue) addRow(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
	row := q.source.MakeDequeueOp(s)
	if s.Err() != nil {
		return nil
	}
	end := row[EpochEnd]
	s = s.WithControlDependencies(effect(s, end, nothing, func(s *graph.Scope) *tfbridge.Operation {
		return q.rows.Enqueue(s, q.rows.FromMap(s, q.components(row))...)
	}))
	var sizes []tfbridge.Output
	for _, key := range q.externData.timeKeys() {
		sizes = append(sizes, row[Size(key, 0)])
	}
	zero, one := s.Const(int64(0)), s.Const(int64(1))
	lengths := graph.Cast(s, graph.Pack(s, sizes, 0), tfbridge.Int64)
	rows := graph.Add(s, v[batchRows], one)
	longest := graph.Maximum(s, v[batchLongest], lengths)
	fits := q.fits(s, rows, longest)
	joins := graph.LogicalAnd(s, fits, graph.LogicalNot(s, end))
	carried := graph.LogicalNot(s, graph.LogicalOr(s, fits, end))
	return []tfbridge.Output{
		graph.Select(s, joins, rows, v[batchRows]),
		graph.Select(s, joins, longest, v[batchLongest]),
		graph.Select(s, carried, one, zero),
		graph.Select(s, carried, lengths, graph.ZerosLike(s, lengths)),
		graph.LogicalNot(s, joins),
		end,
	}
}

// components returns a row without EpochEnd.
func (q *TFBatchingQueue) components(row map[string]tfbridge.Output) map[string]tfbridge.Output {
	values := map[string]tfbridge.Output{}
	for _, spec := range q.source.EvalQueue.specs {
		values[spec.Name] = row[spec.Name]
	}
	return values
}

// fits adds the operations of [Batching.fits].
func (q *TFBatchingQueue) fits(s *graph.Scope, rows, longest tfbridge.Output) tfbridge.Output {
	frames := graph.Mul(s, longest, rows)
	fits := graph.All(s, s.Op1("LessEqual", nil, frames, s.Const(int64(q.batching.BatchSize))), s.Const([]int32{0}))
	if q.batching.MaxSeqs > 0 {
		fits = graph.LogicalAnd(s, fits, s.Op1("LessEqual", nil, rows, s.Const(int64(q.batching.MaxSeqs))))
	}
	return graph.LogicalOr(s, fits, graph.Equal(s, rows, s.Const(int64(1))))
}

// Loop makes batches of the rows of one of the data queues until the end of the
// epoch, or until ctx is done. The last batch of an epoch has the rows that are left.
func (q *TFBatchingQueue) Loop(ctx context.Context, session *tfbridge.Session, train bool) (err error) {
	q.start()
	defer func() { q.stop(err) }()
	run, err := q.runs.prepare(session, "batch", runSpec{
		feeds:   append([]tfbridge.Output{q.source.TrainFlag}, q.started...),
		fetches: q.next, targets: []*tfbridge.Operation{q.made},
	})
	if err != nil {
		return err
	}
	var values []*tfbridge.Tensor // of the feeds
	defer func() { closeAll(values) }()
	for _, v := range []any{train, int64(0), make([]int64, len(q.externData.timeKeys()))} {
		t, err := tfbridge.NewTensor(v)
		if err != nil {
			return err
		}
		values = append(values, t)
	}
	for {
		next, err := run.Run(ctx, values)
		if err != nil {
			return err
		}
		closeAll(values[1:])
		values = append(values[:1], next[:2]...)
		ended, err := tfbridge.View[bool](next[2])
		done := err == nil && ended[0]
		next[2].Close()
		if err != nil || done {
			return err
		}
		q.moved()
	}
}

func closeAll(tensors []*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// HaveDataForDequeue reports whether a batch waits.
func (q *TFBatchingQueue) HaveDataForDequeue(ctx context.Context, session *tfbridge.Session) (bool, error) {
	n, err := q.BatchQueueSize(ctx, session)
	return n > 0, err
}

// BatchQueueSize returns how many batches wait.
func (q *TFBatchingQueue) BatchQueueSize(ctx context.Context, session *tfbridge.Session) (int, error) {
	return q.runs.number(ctx, session, "size", q.count)
}

// clear adds an operation that empties the queue, while nothing else uses it.
func (q *TFBatchingQueue) clear(s *graph.Scope) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	return graph.NoOp(s, drain(s, q.rows), drain(s, q.counts))
}
