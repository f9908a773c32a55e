package datapipeline

import (
	"cmp"
	"context"
	"slices"

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
// the first row of the next batch. The number and the length of such rows, 1 or 0, go
// from run to run through Go.

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

	started []tfbridge.Output // placeholders: the number of rows that the batch has already, and their length
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
	loopRows    = iota // int64: rows of the batch
	loopLongest        // int64: the frames of the longest row, for the key that has most
	loopLength         // int64: those of the last row
	loopLeft           // int64: 1 if the last row does not fit, 0 if it does
	loopOpen           // bool: the batch may get another row
	loopEnd            // bool: the epoch has ended
)

// addLoop adds the loop that makes a batch. Its body moves a row for which there is a
// token, and takes the next token. A condition would be a function to call for each
// row. So a number decides how many tokens are taken: none when the batch is complete,
// since nobody knows when the next one comes.
func (q *TFBatchingQueue) addLoop(s *graph.Scope) {
	zero := s.Const(int64(0))
	q.started = []tfbridge.Output{s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape()), s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())}
	first := q.source.selected.tokens.Dequeue(s)
	if s.Err() != nil {
		return
	}
	vars := graph.While(s, []tfbridge.Output{q.started[0], q.started[1], zero, zero, s.Const(true), first[0]},
		func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
			return graph.LogicalAnd(s, v[loopOpen], graph.LogicalNot(s, v[loopEnd]))
		},
		q.addRow, &graph.WhileOptions{ParallelIterations: 1})
	if s.Err() != nil {
		return
	}
	some := graph.Greater(s, vars[loopRows], zero)
	q.made = effect(s, some, func(s *graph.Scope) *tfbridge.Operation {
		return q.counts.Enqueue(s, graph.Cast(s, vars[loopRows], tfbridge.Int32))
	}, nothing)
	left := vars[loopLeft]
	q.next = []tfbridge.Output{left, graph.Mul(s, left, vars[loopLength]), vars[loopEnd]}
}

// addRow is the body of the loop: it moves one row.
func (q *TFBatchingQueue) addRow(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
	specs := q.source.EvalQueue.specs
	row := q.source.selected.elements.Dequeue(s)
	if s.Err() != nil {
		return nil
	}
	length := s.Const(int64(0))
	for i, spec := range specs {
		if err := s.Graph().SetShape(row[i], spec.Shape); err != nil {
			s.UpdateErr("dequeue", err)
		}
		if q.isLength(spec.Name) {
			length = graph.Maximum(s, length, graph.Cast(s, row[i], tfbridge.Int64))
		}
	}
	s = s.WithControlDependencies(q.rows.Enqueue(s, row...))
	rows := graph.Add(s, v[loopRows], s.Const(int64(1)))
	longest := graph.Maximum(s, v[loopLongest], length)
	fits := q.fits(s, rows, longest)
	open := fits
	if q.batching.MaxSeqs > 0 {
		open = graph.LogicalAnd(s, fits, graph.Less(s, rows, s.Const(int64(q.batching.MaxSeqs))))
	}
	next := q.source.selected.tokens.DequeueMany(s, graph.Cast(s, open, tfbridge.Int32))
	if s.Err() != nil {
		return nil
	}
	joined := graph.Cast(s, fits, tfbridge.Int64)
	return []tfbridge.Output{
		graph.Add(s, v[loopRows], joined),
		longest, length, graph.Sub(s, s.Const(int64(1)), joined), open,
		graph.Any(s, next[0], s.Const([]int32{0})),
	}
}

// isLength reports whether a component is the number of frames of a row.
func (q *TFBatchingQueue) isLength(name string) bool {
	return slices.ContainsFunc(q.externData.timeKeys(), func(key string) bool { return name == Size(key, 0) })
}

// fits adds the operations of [Batching.fits]. A batch of MaxSeqs rows gets no other
// row, so their number need not be compared.
func (q *TFBatchingQueue) fits(s *graph.Scope, rows, longest tfbridge.Output) tfbridge.Output {
	atMost := func(x tfbridge.Output, limit int) tfbridge.Output {
		return s.Op1("LessEqual", nil, x, s.Const(int64(limit)))
	}
	return graph.LogicalOr(s, atMost(graph.Mul(s, longest, rows), q.batching.BatchSize), atMost(rows, 1))
}

// Loop makes batches of the rows of one of the data queues until the end of the
// epoch, or until ctx is done. The last batch of an epoch has the rows that are left.
func (q *TFBatchingQueue) Loop(ctx context.Context, session *tfbridge.Session, train bool) (err error) {
	q.start()
	defer q.finish(&err)
	run, err := q.runs.prepare(session, "batch", runSpec{
		feeds:   append([]tfbridge.Output{q.source.TrainFlag}, q.started...),
		fetches: q.next, targets: []*tfbridge.Operation{q.made},
	})
	if err != nil {
		return err
	}
	var values []*tfbridge.Tensor // of the feeds
	defer func() { closeAll(values) }()
	for _, v := range []any{train, int64(0), int64(0)} {
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
