package datapipeline

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// # A queue that can be emptied at the end of an epoch, and used again
//
// The question. A random-shuffle queue keeps some elements back (min_after_dequeue), so
// that it always has enough to choose from. At the end of an epoch these must come out as
// well. TensorFlow releases them when the queue is closed, but a closed queue stays closed
// as long as its session lives, and the next epoch needs it. An element that marks the end
// would be shuffled with the others. RETURNN's own queues solved neither: an epoch of
// training kept its last elements.
//
// The answer. There is a second queue, of tokens. A token is a permission to dequeue one
// element. A dequeue first waits for a token, then takes an element, which is already
// there. The queue of elements keeps nothing back. The tokens of the last MinAfterDequeue
// elements wait in a third queue:
//
//	elements (random)   [ e e e e e e e ]      7 elements
//	held tokens         [ t t t t ]            MinAfterDequeue = 4 are kept back,
//	tokens              [ t t t ]              so 3 may be taken
//
// The end of the epoch moves the buffered tokens to the queue of tokens and adds tokens of
// another kind, which mark the end. Tokens keep their order, so the end comes after the
// last element. A run that waits for several tokens gets the remaining ones plus end
// tokens. So the number of end tokens is the largest number that a run may wait for, and
// the run that meets the end takes all of them. No queue is ever closed. All of this is
// operations in the graph, so runs that wait can be interrupted.
//
// Only one run at a time may enqueue, and only one may dequeue: between the two steps of
// either, another run would see a wrong count.

// DataQueue is a queue of sequences, or of their chunks, that marks the end of an epoch.
// [NewDataQueue] makes one. One goroutine at a time may enqueue, and one may dequeue.
type DataQueue struct {
	elements, tokens *queue.Queue
	held             *queue.Queue // tokens that are kept back; nil: none
	capacity         int
	minAfterDequeue  int
	specs            []graph.Spec // components of an element, without EpochEnd
	fixed            bool         // whether all elements have the same shapes, so that a run can take many at once
	driven           bool         // see DataQueueOptions
	blocks           *blockQueue  // replaces elements and tokens in a driven queue; nil: it has elements and tokens
}

// DataQueueOptions are the options of a DataQueue. Nil and the zero value mean a queue
// in the order of the data.
type DataQueueOptions struct {
	Shuffle bool // elements come out at random
	// MinAfterDequeue is the number of elements that stay in a shuffling queue until the
	// end of the epoch.
	MinAfterDequeue int
	Seed            int64 // seed of the shuffling; 0: another order in every session

	// driven is for a queue that one goroutine uses, one run after the other, and only when
	// the run will not wait (driver.go). Such a queue always has room, and a run takes the
	// tokens that are there. If its elements keep their order and all have one shape, it
	// keeps blocks of them (block_queue.go).
	driven bool
}

// NewDataQueue adds a queue with room for capacity elements. If no dimension of specs
// varies, a batch can take many elements at once; see [TFBatchingQueue].
func NewDataQueue(s *graph.Scope, name string, capacity int, specs []graph.Spec, o *DataQueueOptions) *DataQueue {
	if o == nil {
		o = &DataQueueOptions{}
	}
	q := &DataQueue{specs: specs, capacity: capacity, minAfterDequeue: o.MinAfterDequeue, driven: o.driven}
	if o.MinAfterDequeue < 0 || capacity <= o.MinAfterDequeue {
		s.UpdateErr(name, millrace.Errorf(millrace.ErrModel, "MinAfterDequeue is %d, must not be negative, and less than the capacity, which is %d", o.MinAfterDequeue, capacity))
	}
	s = s.SubScope(name).WithDevice("/cpu:0")
	components := slices.Clone(specs)
	q.fixed = !slices.ContainsFunc(specs, func(spec graph.Spec) bool { return !spec.Shape.IsFullySpecified() })
	if o.driven && q.fixed && !o.Shuffle {
		q.blocks = newBlockQueue(s, specs)
		return q
	}
	for i := range components {
		if !q.fixed { // TensorFlow wants all dimensions, or no shapes at all
			components[i].Shape = tfbridge.Shape{}
		}
	}
	room := capacity
	if o.driven {
		room = queue.Unbounded
	}
	if o.Shuffle {
		random := &queue.RandomShuffleOptions{Options: queue.Options{Name: "elements"}}
		if o.Seed != 0 {
			random.Seed, random.Seed2 = queue.DefaultSeed, o.Seed
		}
		q.elements = queue.NewRandomShuffle(s, room, components, random)
	} else {
		q.elements = queue.NewFIFO(s, room, components, &queue.Options{Name: "elements"})
	}
	token := []graph.Spec{{DType: tfbridge.Bool, Shape: tfbridge.ScalarShape()}}
	q.tokens = queue.NewFIFO(s, queue.Unbounded, token, &queue.Options{Name: "tokens"})
	if o.Shuffle && o.MinAfterDequeue > 0 {
		q.held = queue.NewFIFO(s, queue.Unbounded, token, &queue.Options{Name: "held"})
	}
	return q
}

// Enqueue adds an operation that enqueues an element: a value for each component, by
// name. If values has [EpochEnd] and that is true, the operation ends the epoch
// instead. It waits while the queue is full.
func (q *DataQueue) Enqueue(s *graph.Scope, values map[string]tfbridge.Output) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	list := make([]tfbridge.Output, len(q.specs))
	for i, spec := range q.specs {
		v, ok := values[spec.Name]
		if !ok {
			s.UpdateErr("enqueue", millrace.Errorf(millrace.ErrModel, "there is no value for component %q", spec.Name))
			return nil
		}
		list[i] = v
	}
	end, ok := values[EpochEnd]
	if !ok {
		return q.put(s, list)
	}
	return effect(s, end, q.end, func(s *graph.Scope) *tfbridge.Operation { return q.put(s, list) })
}

// effect adds an operation that runs then if pred is true, and otherwise if it is false.
func effect(s *graph.Scope, pred tfbridge.Output, then, otherwise func(s *graph.Scope) *tfbridge.Operation) *tfbridge.Operation {
	branch := func(do func(s *graph.Scope) *tfbridge.Operation) graph.Branch {
		return func(s *graph.Scope) []tfbridge.Output {
			return []tfbridge.Output{s.WithControlDependencies(do(s)).Const(true)}
		}
	}
	done := graph.Cond(s, pred, branch(then), branch(otherwise))
	return graph.NoOp(s, done[0].Op)
}

// nothing is an empty branch of effect.
func nothing(s *graph.Scope) *tfbridge.Operation { return graph.NoOp(s) }

// put adds the operations that enqueue an element and then a token for it.
func (q *DataQueue) put(s *graph.Scope, list []tfbridge.Output) *tfbridge.Operation {
	s = s.WithControlDependencies(q.elements.Enqueue(s, list...))
	return q.putTokens(s, s.Const([]bool{false}))
}

// putMany adds the operations that enqueue n elements, an int64: the values are stacked
// along a first dimension. It enqueues them in pieces that fit before their tokens are put,
// or else the queue would wait for itself. Usually there is one piece, and the loop has no
// iteration.
func (q *DataQueue) putMany(s *graph.Scope, n tfbridge.Output, list []tfbridge.Output) *tfbridge.Operation {
	if q.blocks != nil {
		return q.blocks.blocks.Enqueue(s, list...)
	}
	zero := s.Const(int64(0))
	first := q.putPiece(s, list, zero, n)
	done := graph.While(s, []tfbridge.Output{first},
		func(s *graph.Scope, at []tfbridge.Output) tfbridge.Output { return graph.Less(s, at[0], n) },
		func(s *graph.Scope, at []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{q.putPiece(s, list, at[0], n)}
		}, &graph.WhileOptions{ParallelIterations: 1})
	return graph.NoOp(s, done[0].Op)
}

// putPiece adds the operations that enqueue a piece of n elements, from element start. It
// returns the start of the next piece.
func (q *DataQueue) putPiece(s *graph.Scope, list []tfbridge.Output, start, n tfbridge.Output) tfbridge.Output {
	end := graph.Minimum(s, graph.Add(s, start, s.Const(int64(q.piece()))), n)
	rows := make([]tfbridge.Output, len(list))
	for i, values := range list {
		rows[i] = graph.Rows(s, values, start, end)
	}
	count := graph.ExpandDims(s, graph.Sub(s, end, start), 0)
	s = s.WithControlDependencies(q.elements.EnqueueMany(s, rows...))
	s = s.WithControlDependencies(q.putTokens(s, graph.Fill(s, count, s.Const(false))))
	return graph.Identity(s, end)
}

// putTokens adds the operations that enqueue tokens, and keep the last ones back.
func (q *DataQueue) putTokens(s *graph.Scope, tokens tfbridge.Output) *tfbridge.Operation {
	if q.held == nil {
		return q.tokens.EnqueueMany(s, tokens)
	}
	s = s.WithControlDependencies(q.held.EnqueueMany(s, tokens))
	free := graph.Sub(s, q.held.Size(s), s.Const(int32(q.minAfterDequeue)))
	return q.tokens.EnqueueMany(s, q.held.DequeueMany(s, graph.Maximum(s, free, s.Const(int32(0))))...)
}

// end adds the operations that end an epoch.
func (q *DataQueue) end(s *graph.Scope) *tfbridge.Operation {
	if q.blocks != nil {
		return nothing(s) // the driver knows the end itself
	}
	if q.held != nil {
		s = s.WithControlDependencies(q.tokens.EnqueueMany(s, q.held.DequeueMany(s, q.held.Size(s))...))
	}
	ends := make([]bool, q.piece())
	for i := range ends {
		ends[i] = true
	}
	return q.tokens.EnqueueMany(s, s.Const(ends))
}

// Dequeue adds an operation that dequeues an element: the components by name, and
// [EpochEnd]. At the end of an epoch EpochEnd is true and the other components are zeros,
// with size 0 in the dimensions that vary. It waits for an element or the end.
func (q *DataQueue) Dequeue(s *graph.Scope) map[string]tfbridge.Output {
	token := q.tokens.Dequeue(s)
	values := graph.Cond(s, token[0], func(s *graph.Scope) []tfbridge.Output {
		rest := q.tokens.DequeueMany(s, s.Const(int32(q.piece()-1)))
		s = s.WithControlDependencies(rest[0].Op)
		zeros := make([]tfbridge.Output, len(q.specs))
		for i, spec := range q.specs {
			dims := spec.Shape.Dims()
			for k := range dims {
				dims[k] = max(dims[k], 0)
			}
			zeros[i] = s.Zeros(spec.DType, dims...)
		}
		return zeros
	}, q.elements.Dequeue)
	byName := map[string]tfbridge.Output{EpochEnd: token[0]}
	for i, spec := range q.specs {
		if s.Err() == nil {
			s.UpdateErr("dequeue", s.Graph().SetShape(values[i], spec.Shape))
		}
		byName[spec.Name] = values[i]
	}
	return byName
}

// permit adds an operation that takes the tokens of n elements, and waits for them or for
// the end of the epoch. n is an int32 of at most q.piece(). permit returns the number of
// elements to dequeue, an int32, and whether the epoch ends after them. At a driven queue
// it does not wait: it takes at most the tokens that are there.
func (q *DataQueue) permit(s *graph.Scope, n tfbridge.Output) (elements, ended tfbridge.Output) {
	if q.driven {
		n = graph.Minimum(s, n, q.tokens.Size(s))
	}
	tokens := q.tokens.DequeueMany(s, n)
	ends := graph.Sum(s, graph.Cast(s, tokens[0], tfbridge.Int32), s.Const([]int32{0}))
	ended = graph.Greater(s, ends, s.Const(int32(0)))
	rest := q.tokens.DequeueMany(s, graph.Mul(s, graph.Cast(s, ended, tfbridge.Int32), graph.Sub(s, s.Const(int32(q.piece())), ends)))
	return graph.Sub(s.WithControlDependencies(rest[0].Op), n, ends), ended
}

// piece returns the largest number of elements that one operation may enqueue, and of
// tokens that it may wait for: half of the queue's room, without the elements that are kept
// back. With more, a run that waits for one more token could leave so many elements in the
// queue that a piece has no room, and both would wait forever. It is also the number of
// tokens that end an epoch.
func (q *DataQueue) piece() int { return min((q.capacity-q.minAfterDequeue+1)/2, maxPiece) }

// maxPiece is the largest piece, whatever the capacity.
const maxPiece = 10_000

// ready adds an operation that counts the tokens in the queue, an int32, including the
// end's.
func (q *DataQueue) ready(s *graph.Scope) tfbridge.Output { return q.tokens.Size(s) }

// take adds an operation that dequeues n elements, an int32, whose tokens the run has
// taken. If the queue is fixed, they are stacked. Otherwise n must be 1, and the element is
// not stacked.
func (q *DataQueue) take(s *graph.Scope, n tfbridge.Output) []tfbridge.Output {
	if q.fixed {
		return q.elements.DequeueMany(s, n)
	}
	values := q.elements.Dequeue(s)
	for i := range values {
		if err := s.Graph().SetShape(values[i], q.specs[i].Shape); err != nil {
			s.UpdateErr("dequeue", err)
		}
	}
	return values
}

// Size adds an operation that counts the elements, a scalar int32.
func (q *DataQueue) Size(s *graph.Scope) tfbridge.Output { return q.elements.Size(s) }

// haveMore adds an operation that reports whether a dequeue would not wait.
func (q *DataQueue) haveMore(s *graph.Scope) tfbridge.Output {
	return graph.Greater(s, q.tokens.Size(s), s.Const(int32(0)))
}

// oneMore adds an operation that reports whether a dequeue would wait now, but not after
// one more enqueue.
func (q *DataQueue) oneMore(s *graph.Scope) tfbridge.Output {
	empty := graph.Equal(s, q.tokens.Size(s), s.Const(int32(0)))
	if q.held == nil {
		return empty
	}
	return graph.LogicalAnd(s, empty, graph.Equal(s, q.held.Size(s), s.Const(int32(q.minAfterDequeue))))
}

// clear adds an operation that empties the queue, while nothing else uses it.
func (q *DataQueue) clear(s *graph.Scope) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	if q.blocks != nil {
		return q.blocks.clear(s)
	}
	ops := []*tfbridge.Operation{drain(s, q.elements), drain(s, q.tokens)}
	if q.held != nil {
		ops = append(ops, drain(s, q.held))
	}
	return graph.NoOp(s, ops...)
}

// drain adds a loop that dequeues all elements of a queue.
func drain(s *graph.Scope, q *queue.Queue) *tfbridge.Operation {
	left := graph.While(s, []tfbridge.Output{q.Size(s)},
		func(s *graph.Scope, left []tfbridge.Output) tfbridge.Output {
			return graph.Greater(s, left[0], s.Const(int32(0)))
		},
		func(s *graph.Scope, left []tfbridge.Output) []tfbridge.Output {
			s = s.WithControlDependencies(q.Dequeue(s)[0].Op)
			return []tfbridge.Output{graph.Sub(s, left[0], s.Const(int32(1)))}
		}, &graph.WhileOptions{ParallelIterations: 1})
	if s.Err() != nil {
		return nil
	}
	return graph.NoOp(s, left[0].Op)
}
