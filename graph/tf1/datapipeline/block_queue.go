package datapipeline

import (
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// # Blocks of chunks
//
// The question. A queue keeps each component of each element as a separate tensor. A
// sequence of 800 frames is 32 chunks of six components, so cutting it made 192 tensors,
// and moving the chunks into a batch made 192 more. That was most of the time of the
// queues.
//
// The answer. The chunks of a sequence are stacked when they are cut. If all chunks have
// one shape and keep their order, the stack goes through the queue as one element, a block.
// A batch takes blocks until it has its rows. The rest of the last block waits in a second
// queue for the next batch:
//
//	blocks   [ cccccc | cccc | ccccccc | ...       a sequence each
//	batches    rrrr rr  rr rr  rrrr rrr            of four rows
//	rest     [ cc ]                                after the first batch
//
// The slices share the memory of their block, so one copy brings a chunk to its batch. Go
// counts the rows of each batch (driver.go): the number and the lengths of the chunks
// follow from the number of frames of the sequence.

// blockQueue is a queue of blocks. Only one run at a time may use it, and a run may take
// rows only when they are in the queue.
type blockQueue struct {
	blocks, rest *queue.Queue
	specs        []graph.Spec // components of a row
}

// newBlockQueue adds a queue of blocks whose rows have these components, all of fixed
// shapes.
func newBlockQueue(s *graph.Scope, specs []graph.Spec) *blockQueue {
	components := make([]graph.Spec, len(specs))
	for i, spec := range specs {
		components[i] = graph.Spec{Name: spec.Name, DType: spec.DType} // the number of rows varies
	}
	return &blockQueue{
		blocks: queue.NewFIFO(s, queue.Unbounded, components, &queue.Options{Name: "blocks"}),
		rest:   queue.NewFIFO(s, queue.Unbounded, components, &queue.Options{Name: "rest"}),
		specs:  specs,
	}
}

// begin adds the operations that prepare the queue for an epoch: they put a rest without
// rows.
func (q *blockQueue) begin(s *graph.Scope) *tfbridge.Operation {
	none := make([]tfbridge.Output, len(q.specs))
	for i, spec := range q.specs {
		none[i] = s.Zeros(spec.DType, append([]int64{0}, spec.Shape.Dims()...)...)
	}
	return q.rest.Enqueue(s, none...)
}

// clear adds the operations that empty the queue.
func (q *blockQueue) clear(s *graph.Scope) *tfbridge.Operation {
	return graph.NoOp(s, drain(s, q.blocks), drain(s, q.rest))
}

// pieces are the parts of blocks in a batch under construction.
type pieces struct {
	missing tfbridge.Output   // number of rows still needed, int64
	lists   []tfbridge.Output // TensorLists, one per component
	rest    []tfbridge.Output // components of the last block
}

// take adds the operations that take n rows, an int64 that is at least 1. It returns
// their components, stacked.
func (q *blockQueue) take(s *graph.Scope, n tfbridge.Output) []tfbridge.Output {
	lists := make([]tfbridge.Output, len(q.specs))
	for i, spec := range q.specs {
		lists[i] = s.Op1("EmptyTensorList", map[string]any{"element_dtype": spec.DType}, s.Const(int32(-1)), s.Const(int32(-1)))
	}
	first := q.cut(s, pieces{n, lists, q.next(s, q.rest)})
	vars := graph.While(s, first.vars(),
		func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
			return graph.Greater(s, v[0], s.Const(int64(0)))
		},
		func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
			return q.cut(s, pieces{v[0], v[1 : 1+len(lists)], q.next(s, q.blocks)}).vars()
		}, &graph.WhileOptions{ParallelIterations: 1})
	if s.Err() != nil {
		return nil
	}
	s = s.WithControlDependencies(q.rest.Enqueue(s, vars[1+len(lists):]...))
	return q.join(s, vars[1:1+len(lists)])
}

// vars returns the variables of the loop that takes pieces.
func (p pieces) vars() []tfbridge.Output {
	return append(append([]tfbridge.Output{p.missing}, p.lists...), p.rest...)
}

// next adds an operation that dequeues a block.
func (q *blockQueue) next(s *graph.Scope, from *queue.Queue) []tfbridge.Output {
	block := from.Dequeue(s)
	if s.Err() != nil {
		return nil
	}
	for i, spec := range q.specs {
		if err := s.Graph().SetShape(block[i], batched(spec.Shape)); err != nil {
			s.UpdateErr("dequeue a block", err)
		}
	}
	return block
}

// cut adds the operations that move the missing rows from the rest to the batch, or the
// whole rest if it has fewer.
func (q *blockQueue) cut(s *graph.Scope, p pieces) pieces {
	if s.Err() != nil {
		return p
	}
	end := graph.Minimum(s, p.missing, graph.Subscript(s, graph.Shape(s, p.rest[0]), graph.At(0)))
	left := pieces{missing: graph.Sub(s, p.missing, end)}
	zero := s.Const(int64(0))
	for i, list := range p.lists {
		piece := graph.Rows(s, p.rest[i], zero, end)
		left.lists = append(left.lists, s.Op1("TensorListPushBack", map[string]any{"element_dtype": q.specs[i].DType}, list, piece))
		left.rest = append(left.rest, graph.RowsFrom(s, p.rest[i], end))
	}
	return left
}

// join adds the operations that stack the pieces.
func (q *blockQueue) join(s *graph.Scope, lists []tfbridge.Output) []tfbridge.Output {
	rows := make([]tfbridge.Output, len(lists))
	for i, spec := range q.specs {
		stacked := s.Op("TensorListConcatV2", map[string]any{"element_dtype": spec.DType},
			lists[i], s.Const(batched(spec.Shape).Dims()), s.Const([]int64{}))
		if s.Err() != nil {
			return nil
		}
		rows[i] = stacked[0]
	}
	return rows
}
