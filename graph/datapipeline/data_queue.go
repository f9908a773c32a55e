package datapipeline

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/queue"
	"millrace/tfbridge"
)

// # A queue that can be emptied at the end of an epoch, and used again
//
// The question. A random-shuffle queue keeps some elements back (min_after_dequeue),
// so that it always has enough to choose from. At the end of an epoch these must come
// out, too. TensorFlow lets them out when the queue is closed, but a closed queue
// stays closed as long as its session lives, and the next epoch needs it again. An
// element that marks the end would be shuffled like all others. RETURNN's own queues
// solved neither: an epoch of training kept its last elements.
//
// The answer. Beside the queue of elements there is one of tokens. A token is a
// permission to dequeue. A dequeue takes a token first, and waits for that; then it
// takes an element, which is there already. The queue of elements itself keeps nothing
// back. The tokens of the last MinAfterDequeue elements wait in a third queue:
//
//	elements (random)   [ e e e e e e e ]      7 elements
//	held tokens         [ t t t t ]            MinAfterDequeue = 4 are kept back,
//	tokens              [ t t t ]              so 3 may be taken
//
// The end of the epoch moves the held tokens to the others and puts tokens of another
// kind behind them, which say that the epoch ends. Tokens keep their order, so the end
// comes after the last element. A run that waits for the tokens of several elements gets
// those that are left and makes up the number with the end's, so there are as many of
// these as a run may wait for; whoever meets the end takes all of them. Nothing is ever
// closed. All of it is operations in the graph, so runs that wait can be interrupted.
//
// Only one run at a time may enqueue, and only one may dequeue: between the two steps
// of either, others would see a wrong count.

// DataQueue is a queue of the data of sequences, or of chunks of them, that knows the
// end of an epoch. [NewDataQueue] makes one. One goroutine at a time may enqueue, and
// one may dequeue.
type DataQueue struct {
	elements, tokens *queue.Queue
	held             *queue.Queue // tokens that are kept back; nil: none are
	capacity         int
	minAfterDequeue  int
	specs            []graph.Spec // of an element, without EpochEnd
	fixed            bool         // all elements have the same shapes, so many can be taken at once
	driven           bool         // see DataQueueOptions
	blocks           *blockQueue  // what a driven queue keeps in place of elements and tokens; nil: it does not
}

// DataQueueOptions are the options of a DataQueue. Nil and the zero value mean a queue
// in the order of the data.
type DataQueueOptions struct {
	Shuffle bool // elements come out at random
	// MinAfterDequeue is how many elements stay in a shuffling queue until the end of
	// the epoch.
	MinAfterDequeue int
	Seed            int64 // of the shuffling; 0: another order in every session

	// driven is for a queue whose runs one goroutine makes, one after the other, each
	// only when it will not wait (driver.go): there is always room, and whoever takes
	// tokens gets as many as there are.
	// If its elements keep their order and all have one shape, it keeps blocks of them
	// (block_queue.go).
	driven bool
}

// NewDataQueue adds a queue of so many elements. If no dimension of specs varies, a batch
// can be made of many elements at once; see [TFBatchingQueue].
func NewDataQueue(s *graph.Scope, name string, capacity int, specs []graph.Spec, o *DataQueueOptions) *DataQueue {
	if o == nil {
		o = &DataQueueOptions{}
	}
	q := &DataQueue{specs: specs, capacity: capacity, minAfterDequeue: o.MinAfterDequeue, driven: o.driven}
	if s.Err() != nil {
		return q
	}
	if o.MinAfterDequeue < 0 || capacity <= o.MinAfterDequeue {
		s.UpdateErr(name, millrace.Errorf(millrace.ErrModel, "MinAfterDequeue is %d, must not be negative, and less than the capacity, which is %d", o.MinAfterDequeue, capacity))
		return q
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

// effect adds an operation that does one thing if pred is true, and another if not.
func effect(s *graph.Scope, pred tfbridge.Output, then, otherwise func(s *graph.Scope) *tfbridge.Operation) *tfbridge.Operation {
	branch := func(do func(s *graph.Scope) *tfbridge.Operation) graph.Branch {
		return func(s *graph.Scope) []tfbridge.Output {
			return []tfbridge.Output{s.WithControlDependencies(do(s)).Const(true)}
		}
	}
	done := graph.Cond(s, pred, branch(then), branch(otherwise))
	if s.Err() != nil {
		return nil
	}
	return graph.NoOp(s, done[0].Op)
}

// nothing is a branch of effect.
func nothing(s *graph.Scope) *tfbridge.Operation { return graph.NoOp(s) }

// put adds the operations that enqueue an element and then a token for it.
func (q *DataQueue) put(s *graph.Scope, list []tfbridge.Output) *tfbridge.Operation {
	s = s.WithControlDependencies(q.elements.Enqueue(s, list...))
	return q.putTokens(s, s.Const([]bool{false}))
}

// putMany adds the operations that enqueue n elements, an int64: the values are
// stacked along a first dimension. It does so in pieces for which there will be room
// before their tokens come, or else the queue would wait for itself. Usually one piece
// is all, and the loop has no turn.
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
	if s.Err() != nil {
		return nil
	}
	return graph.NoOp(s, done[0].Op)
}

// putPiece adds the operations that enqueue a piece of n elements, from one on. It
// returns where the next piece starts.
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
		return nothing(s) // the driver knows
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
// [EpochEnd]. At the end of an epoch EpochEnd is true and the others are zeros, whose
// dimensions that vary are 0. It waits until there is an element, or the end.
func (q *DataQueue) Dequeue(s *graph.Scope) map[string]tfbridge.Output {
	token := q.tokens.Dequeue(s)
	if s.Err() != nil {
		return nil
	}
	values := graph.Cond(s, token[0], func(s *graph.Scope) []tfbridge.Output {
		rest := q.tokens.DequeueMany(s, s.Const(int32(q.piece()-1)))
		if s.Err() != nil {
			return nil
		}
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
	if s.Err() != nil {
		return nil
	}
	byName := map[string]tfbridge.Output{EpochEnd: token[0]}
	for i, spec := range q.specs {
		if err := s.Graph().SetShape(values[i], spec.Shape); err != nil {
			s.UpdateErr("dequeue", err)
		}
		byName[spec.Name] = values[i]
	}
	return byName
}

// permit adds an operation that takes the tokens of n elements, an int32 that is at most
// q.piece(), and waits for them or for the end of the epoch. It returns how many elements
// may be dequeued, an int32, and whether the epoch ends behind them. At a driven queue
// it does not wait, and n is reduced to the tokens that are there.
func (q *DataQueue) permit(s *graph.Scope, n tfbridge.Output) (elements, ended tfbridge.Output) {
	if q.driven {
		n = graph.Minimum(s, n, q.tokens.Size(s))
	}
	tokens := q.tokens.DequeueMany(s, n)
	if s.Err() != nil {
		return
	}
	ends := graph.Sum(s, graph.Cast(s, tokens[0], tfbridge.Int32), s.Const([]int32{0}))
	ended = graph.Greater(s, ends, s.Const(int32(0)))
	rest := q.tokens.DequeueMany(s, graph.Mul(s, graph.Cast(s, ended, tfbridge.Int32), graph.Sub(s, s.Const(int32(q.piece())), ends)))
	if s.Err() != nil {
		return
	}
	return graph.Sub(s.WithControlDependencies(rest[0].Op), n, ends), ended
}

// piece returns how many elements one operation may enqueue, and how many tokens it may
// wait for: half of what the queue has room for beside those that it keeps back. If it
// were more, a run that waits for one more token could keep so many elements in the queue
// that a piece has no room, and that waits until they are dequeued. It is also how many
// tokens end an epoch.
func (q *DataQueue) piece() int { return min((q.capacity-q.minAfterDequeue+1)/2, maxPiece) }

// maxPiece is the largest piece, whatever the capacity.
const maxPiece = 10_000

// ready adds an operation that counts the tokens that may be taken, an int32: of elements,
// and of the end.
func (q *DataQueue) ready(s *graph.Scope) tfbridge.Output { return q.tokens.Size(s) }

// take adds an operation that dequeues n elements for which there are tokens, an int32. If
// the queue is fixed, they are stacked. Otherwise n must be 1, and the element is not.
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

// oneMore adds an operation that reports whether a dequeue would wait, and would not
// after one more enqueue.
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

// drain adds a loop that dequeues what is in a queue.
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
