package datapipeline

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// # Batches in the graph
//
// Rows are chunks or whole sequences. They go into a padding queue. The number of rows in a
// batch is known only when the next row does not fit. Then the rows leave the queue,
// stacked and padded, and go into a second queue as one element:
//
//	rows     [ r r            <- rows, as they come
//	batches  [ rrr | rrrr     <- when a batch is complete
//
// The queue of batches has a capacity. The queue of rows has none, so a batch of any number
// of rows fits.
//
// One run of the loop makes one batch: it moves rows until the next does not fit. To find
// that out, it may have to move the first row of the next batch into the queue of rows. Go
// passes the number of such rows, 1 or 0, and their length from run to run.
//
// An operation of the graph costs more than the copy of a short row. So the loop moves many
// rows at once if it can. If all rows are chunks padded to one length, the budget divided
// by that length is a number of rows that fits whatever their true lengths. Only the rows
// after these are moved one by one. For batches of 100 chunks, a loop that moved each row
// separately took a hundred times as many operations, and five times as long as batching in
// Go. Blocks of such chunks need no loop over rows (block_queue.go).

// TFBatchingQueue batches rows in the graph. [NewTFBatchingQueue] makes one.
type TFBatchingQueue struct {
	activity
	// Output is a batch: the components of the data queues by name, stacked and
	// padded with zeros and empty strings. Each run that computes with any of them
	// takes a batch, and waits for it.
	Output map[string]tfbridge.Output

	externData *ExternData
	batching   Batching
	rows       *queue.Queue // rows of the batch under construction; nil: rows are not put one by one
	batches    *queue.Queue
	loops      byMode[*batchLoop]
	count      tfbridge.Output // number of batches in the queue
	made       atomic.Int64    // batches
	runs       runs
}

// TFBatchingQueueOptions are the options of a TFBatchingQueue.
type TFBatchingQueueOptions struct {
	Batching
	Capacity int // batches; 0: 10
}

// NewTFBatchingQueue adds a queue of batches to a graph. The data queues must be
// without a batch dimension.
func NewTFBatchingQueue(s *graph.Scope, externData *ExternData, source *TFDataQueues, o *TFBatchingQueueOptions) *TFBatchingQueue {
	if o == nil {
		o = &TFBatchingQueueOptions{}
	}
	q := &TFBatchingQueue{externData: externData, batching: o.Batching}
	if source == nil {
		s.UpdateErr("TFBatchingQueue", millrace.Errorf(millrace.ErrModel, "the data queues are nil"))
	}
	s.UpdateErr("TFBatchingQueue", o.check())
	if s.Err() != nil {
		return q
	}
	s = s.SubScope("batching").WithDevice("/cpu:0")
	if source.TrainQueue.blocks == nil || source.EvalQueue.blocks == nil {
		q.rows = queue.NewPaddingFIFO(s, queue.Unbounded, source.specs, &queue.Options{Name: "rows"})
	}
	q.addBatches(s, source.specs, cmp.Or(o.Capacity, 10))
	q.count = q.batches.Size(s)
	q.loops = byMode[*batchLoop]{q.newLoop(s, source.TrainQueue), q.newLoop(s, source.EvalQueue)}
	return q
}

// addBatches adds the queue of batches, and the operations that dequeue one.
func (q *TFBatchingQueue) addBatches(s *graph.Scope, specs []graph.Spec, capacity int) {
	components := make([]graph.Spec, len(specs))
	for i, spec := range specs {
		components[i] = graph.Spec{Name: spec.Name, DType: spec.DType} // without a shape: a batch may have any number of rows
	}
	q.batches = queue.NewFIFO(s, capacity, components, &queue.Options{Name: "batches"})
	batch := q.batches.Dequeue(s)
	if s.Err() != nil {
		return
	}
	for i, spec := range specs {
		if err := s.Graph().SetShape(batch[i], batched(spec.Shape)); err != nil {
			s.UpdateErr("dequeue a batch", err)
		}
	}
	q.Output = q.batches.ToMap(batch)
}

// put adds an operation that enqueues stacked rows as a batch. It drops the last frames if
// they are padding in every row.
func (q *TFBatchingQueue) put(s *graph.Scope, rows []tfbridge.Output) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	byName := q.batches.ToMap(rows)
	for i, component := range q.batches.Components() {
		if slices.Contains(q.externData.timeKeys(), component.Name) {
			rows[i] = q.cutToLongest(s, rows[i], byName[Size(component.Name, 0)])
		}
	}
	return q.batches.Enqueue(s, rows...)
}

// cutToLongest adds the operations that drop the frames that are padding in every row. Only
// a batch of short chunks has such frames; otherwise nothing is copied.
func (q *TFBatchingQueue) cutToLongest(s *graph.Scope, rows, sizes tfbridge.Output) tfbridge.Output {
	if s.Err() != nil {
		return rows
	}
	longest := graph.Max(s, sizes, s.Const([]int32{0}))
	end := graph.Pack(s, []tfbridge.Output{s.Const(int32(0)), longest}, 0)
	cut := graph.StridedSlice(s, rows, s.Const([]int32{0, 0}), end, s.Const([]int32{1, 1}), &graph.StridedSliceOptions{EndMask: 1})
	if s.Err() == nil {
		s.UpdateErr("cut to the longest row", s.Graph().SetShape(cut, rows.Shape()))
	}
	return cut
}

// Loop makes batches from the rows of one of the data queues until the epoch ends or ctx is
// done. The last batch of an epoch has the remaining rows.
func (q *TFBatchingQueue) Loop(ctx context.Context, session *tfbridge.Session, train bool) (err error) {
	q.start()
	defer q.finish(&err)
	name := "batch for evaluation"
	if train {
		name = "batch for training"
	}
	l := q.loops.get(train)
	run, err := q.runs.prepare(session, name, runSpec{
		feeds: l.started, fetches: slices.Concat(l.next, l.result), targets: []*tfbridge.Operation{l.made},
	})
	if err != nil {
		return err
	}
	started, err := q.nothing()
	if err != nil {
		return err
	}
	defer func() { closeAll(started) }()
	for ended := false; !ended; {
		fetched, err := run.Run(ctx, started)
		if err != nil {
			return err
		}
		closeAll(started)
		started = fetched[:len(l.started)]
		if ended, err = q.note(fetched[len(l.started):]); err != nil {
			return err
		}
	}
	return nil
}

// nothing returns the initial values of the loop: no rows, of length 0.
func (q *TFBatchingQueue) nothing() ([]*tfbridge.Tensor, error) {
	rows, err := tfbridge.NewTensor(int64(0))
	if err != nil {
		return nil, err
	}
	length, err := tfbridge.NewTensor(int64(0))
	if err != nil {
		rows.Close()
		return nil, err
	}
	return []*tfbridge.Tensor{rows, length}, nil
}

// note counts the batch of a run, if there is one, and reports whether the epoch has ended.
// It closes the result.
func (q *TFBatchingQueue) note(result []*tfbridge.Tensor) (ended bool, err error) {
	defer closeAll(result)
	var answers [2]bool
	for i, t := range result {
		view, err := tfbridge.View[bool](t)
		if err != nil {
			return false, err
		}
		answers[i] = view[0]
	}
	if answers[1] {
		q.madeOne()
	}
	return answers[0], nil
}

// madeOne counts a batch.
func (q *TFBatchingQueue) madeOne() {
	q.made.Add(1)
	q.moved()
}

// haveMade waits until n batches are made. It returns false if Loop ended before that.
func (q *TFBatchingQueue) haveMade(ctx context.Context, n int64) (bool, error) {
	for {
		changed, running := q.Changed(), q.IsRunning()
		if q.made.Load() >= n {
			return true, nil
		}
		if !running {
			return false, q.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, millrace.Canceled(ctx, "wait for a batch")
		}
	}
}

func closeAll(tensors []*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// HaveDataForDequeue reports whether the queue has a batch.
func (q *TFBatchingQueue) HaveDataForDequeue(ctx context.Context, session *tfbridge.Session) (bool, error) {
	n, err := q.BatchQueueSize(ctx, session)
	return n > 0, err
}

// BatchQueueSize returns the number of batches in the queue.
func (q *TFBatchingQueue) BatchQueueSize(ctx context.Context, session *tfbridge.Session) (int, error) {
	return q.runs.number(ctx, session, "size", q.count)
}

// clear adds an operation that empties the queue, while nothing else uses it.
func (q *TFBatchingQueue) clear(s *graph.Scope) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	ops := []*tfbridge.Operation{drain(s, q.batches)}
	if q.rows != nil {
		ops = append(ops, drain(s, q.rows))
	}
	return graph.NoOp(s, ops...)
}
