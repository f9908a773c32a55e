package datapipeline

import (
	"slices"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// batchLoop is the loop in the graph that makes one batch from the rows of one data queue.
type batchLoop struct {
	externData *ExternData
	batching   Batching
	from       *DataQueue
	to         *queue.Queue // rows

	sure int // number of rows that fit whatever their length; 1 if unknown

	started []tfbridge.Output // placeholders: the number of rows already in the batch, and the length of the longest
	next    []tfbridge.Output // the same two values for the next batch
	result  []tfbridge.Output // whether the epoch has ended, and whether there is a batch
	ready   tfbridge.Output   // tokens that remain in a driven queue after the run
	made    *tfbridge.Operation

	taken tfbridge.Output     // placeholder for a queue of blocks, replaces the fields above: the rows of the batch
	begin *tfbridge.Operation // for a queue of blocks: prepares it for an epoch
}

// newLoop adds a loop.
func (q *TFBatchingQueue) newLoop(s *graph.Scope, from *DataQueue) *batchLoop {
	l := &batchLoop{externData: q.externData, batching: q.batching, from: from, to: q.rows}
	if s.Err() != nil {
		return l
	}
	if from.blocks != nil {
		l.taken = s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
		l.made = q.put(s, from.blocks.take(s, l.taken))
		l.begin = from.blocks.begin(s)
		return l
	}
	l.sure = q.batching.sure(l.externData, from)
	l.add(s, q)
	return l
}

// sure returns the number of rows of a queue that fit into a batch whatever their length,
// at least 1.
func (b *Batching) sure(e *ExternData, from *DataQueue) int {
	longest := int64(1)
	for _, spec := range from.specs {
		if slices.Contains(e.timeKeys(), spec.Name) {
			longest = max(longest, spec.Shape.Size(0))
		}
	}
	if !from.fixed {
		return 1
	}
	n := max(b.BatchSize/int(longest), 1)
	if b.MaxSeqs > 0 {
		n = min(n, b.MaxSeqs)
	}
	return n
}

// The variables of the loop.
const (
	loopRows    = iota // int64: rows of the batch
	loopLongest        // int64: frames of the longest row, for the key with the most frames
	loopLength         // int64: frames of the last row
	loopLeft           // int64: 1 if the last row does not fit, 0 if it does
	loopTaken          // int32: rows to move next; 0 ends the loop
	loopEnd            // bool: the epoch has ended
)

// add adds the loop. Its body moves the rows for which there are tokens, and takes the next
// tokens. A condition in the body would cost a function call per iteration. So the body
// computes the number of tokens to take instead: 0 when the batch is complete, because the
// next row may come at any time.
func (l *batchLoop) add(s *graph.Scope, q *TFBatchingQueue) {
	zero := s.Const(int64(0))
	l.started = []tfbridge.Output{s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape()), s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())}
	taken, ended := l.from.permit(s, l.room(s, l.started[0], l.started[1], s.Const(true)))
	vars := graph.While(s, []tfbridge.Output{l.started[0], l.started[1], zero, zero, taken, ended},
		func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
			return graph.Greater(s, v[loopTaken], s.Const(int32(0)))
		},
		l.addRows, &graph.WhileOptions{ParallelIterations: 1})
	if s.Err() != nil {
		return
	}
	some := graph.Greater(s, vars[loopRows], zero)
	left := vars[loopLeft]
	l.next = []tfbridge.Output{left, graph.Mul(s, left, vars[loopLength])}
	if l.from.driven {
		complete := l.complete(s, vars)
		some = graph.LogicalAnd(s, some, complete)
		open := graph.Cast(s, graph.LogicalNot(s, complete), tfbridge.Int64)
		for i, v := range []tfbridge.Output{vars[loopRows], vars[loopLongest]} {
			l.next[i] = graph.Add(s, l.next[i], graph.Mul(s, open, v)) // loopLeft is 0 unless the batch is complete
		}
	}
	l.made = effect(s, some, func(s *graph.Scope) *tfbridge.Operation {
		return q.put(s, q.rows.DequeueMany(s, graph.Cast(s, vars[loopRows], tfbridge.Int32)))
	}, nothing)
	l.result = []tfbridge.Output{vars[loopEnd], some}
	if l.from.driven && s.Err() == nil {
		l.ready = l.from.ready(s.WithControlDependencies(l.made))
	}
}

// complete adds the operations that report whether the loop over a driven queue ended
// because the batch is complete, and not because rows are missing.
func (l *batchLoop) complete(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
	none := graph.Equal(s, l.room(s, v[loopRows], v[loopLongest], s.Const(true)), s.Const(int32(0)))
	over := graph.Greater(s, v[loopLeft], s.Const(int64(0)))
	return graph.LogicalOr(s, v[loopEnd], graph.LogicalOr(s, over, none))
}

// addRows is the body of the loop: it moves rows. When it moves several at once, all of
// them fit.
func (l *batchLoop) addRows(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
	taken := v[loopTaken]
	values := l.from.take(s, taken)
	if s.Err() != nil {
		return nil
	}
	length := l.length(s, values)
	s = s.WithControlDependencies(l.put(s, values))
	rows := graph.Add(s, v[loopRows], graph.Cast(s, taken, tfbridge.Int64))
	longest := graph.Maximum(s, v[loopLongest], length)
	fit := graph.LogicalOr(s, l.within(s, longest, rows), atMost(s, rows, 1))
	open := graph.LogicalAnd(s, fit, graph.LogicalNot(s, v[loopEnd]))
	taken, ended := l.from.permit(s, l.room(s, rows, longest, open))
	left := graph.Cast(s, graph.LogicalNot(s, fit), tfbridge.Int64)
	return []tfbridge.Output{
		graph.Sub(s, rows, left), longest, length, left, taken, graph.LogicalOr(s, v[loopEnd], ended),
	}
}

// put adds an operation that enqueues rows of the data queue. A single row is enqueued
// without EnqueueMany. Stacked by ExpandDims for EnqueueMany, it had another shape in a
// session that optimizes its graph, and EnqueueMany read past its end.
func (l *batchLoop) put(s *graph.Scope, values []tfbridge.Output) *tfbridge.Operation {
	if l.from.fixed {
		return l.to.EnqueueMany(s, values...)
	}
	return l.to.Enqueue(s, values...)
}

// room adds the operations that compute the number of rows to move next, an int32. It is 0
// if the batch is not open or no row can fit. Otherwise it is the number that certainly
// fits, at least 1.
func (l *batchLoop) room(s *graph.Scope, rows, longest, open tfbridge.Output) tfbridge.Output {
	another := graph.Add(s, rows, s.Const(int64(1)))
	open = graph.LogicalAnd(s, open, graph.LogicalOr(s, l.within(s, longest, another), atMost(s, another, 1)))
	if l.batching.MaxSeqs > 0 {
		open = graph.LogicalAnd(s, open, atMost(s, another, l.batching.MaxSeqs))
	}
	n := graph.Cast(s, open, tfbridge.Int32)
	if l.sure == 1 {
		return n
	}
	sure := graph.Sub(s, s.Const(int64(l.sure)), rows)
	most := graph.Minimum(s, graph.Maximum(s, sure, s.Const(int64(1))), s.Const(int64(l.from.piece())))
	return graph.Mul(s, n, graph.Cast(s, most, tfbridge.Int32))
}

// within adds the operations that report whether a batch of the given number of rows and
// the given longest row is within the budget.
func (l *batchLoop) within(s *graph.Scope, longest, rows tfbridge.Output) tfbridge.Output {
	return atMost(s, graph.Mul(s, longest, rows), l.batching.BatchSize)
}

func atMost(s *graph.Scope, x tfbridge.Output, limit int) tfbridge.Output {
	return graph.LessEqual(s, x, s.Const(int64(limit)))
}

// length adds the operations that compute the frames of the longest row among values, for
// the key with the most frames, an int64.
func (l *batchLoop) length(s *graph.Scope, values []tfbridge.Output) tfbridge.Output {
	length := s.Const(int64(0))
	for i, spec := range l.from.specs {
		if l.isLength(spec.Name) {
			longest := values[i]
			if l.from.fixed {
				longest = graph.Max(s, longest, s.Const([]int32{0}))
			}
			length = graph.Maximum(s, length, graph.Cast(s, longest, tfbridge.Int64))
		}
	}
	return length
}

// isLength reports whether a component is the number of frames of a row.
func (l *batchLoop) isLength(name string) bool {
	return slices.ContainsFunc(l.externData.timeKeys(), func(key string) bool { return name == Size(key, 0) })
}
