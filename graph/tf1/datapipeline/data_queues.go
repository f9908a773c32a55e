package datapipeline

import (
	"cmp"
	"context"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// TFDataQueues are two queues for the same kind of data: one for training, which shuffles,
// and one for evaluation, which keeps the order. Each run selects one by a flag.
// [NewTFDataQueues] makes them. One goroutine at a time may enqueue, and one may dequeue.
type TFDataQueues struct {
	TrainFlag             tfbridge.Output // scalar bool: true uses TrainQueue, false EvalQueue
	TrainQueue, EvalQueue *DataQueue

	specs             []graph.Spec // components of an element, in both queues
	placeholders      *Placeholders
	enqueue           *tfbridge.Operation
	haveMore, oneMore tfbridge.Output
	runs              runs
}

// TFDataQueuesOptions are the options of TFDataQueues. Nil and the zero value mean
// the defaults.
type TFDataQueuesOptions struct {
	Capacity int // elements of each queue; 0: 100
	// Ordered makes the queue for training keep the order as well. Otherwise it keeps 0.8
	// of its capacity back until the end of the epoch.
	Ordered   bool
	Seed      int64    // seed of the shuffling; 0: 1
	WithBatch bool     // the data has a batch dimension in front
	Special   []string // special keys of an element, in addition to its data
	// TrainChunks and EvalChunks describe how the elements of a queue are cut, if they have
	// a Size. A TFChunkingQueueRunner then pads short chunks. So all chunks have one shape,
	// and a batch can take many at a time; the sizes exclude the padding.
	TrainChunks, EvalChunks Chunking
	// EnqueueData are the tensors that the enqueue operation takes, by name. Nil: it
	// takes placeholders, which Enqueue feeds.
	EnqueueData map[string]tfbridge.Output

	driven bool // see DataQueueOptions
}

// NewTFDataQueues adds the queues to a graph.
func NewTFDataQueues(s *graph.Scope, externData *ExternData, o *TFDataQueuesOptions) *TFDataQueues {
	if o == nil {
		o = &TFDataQueuesOptions{}
	}
	q := &TFDataQueues{}
	err := externData.check()
	if err == nil {
		err = o.check(externData)
	}
	if err != nil {
		s.UpdateErr("TFDataQueues", err)
		q.TrainQueue, q.EvalQueue = NewDataQueue(s, "train_queue", 1, nil, nil), NewDataQueue(s, "eval_queue", 1, nil, nil)
		return q
	}
	s = s.SubScope("data_queues").WithDevice("/cpu:0")
	q.TrainFlag = s.Placeholder(tfbridge.Bool, tfbridge.ScalarShape())
	q.specs = externData.components(o.Special...)
	if o.WithBatch {
		for i := range q.specs {
			q.specs[i].Shape = batched(q.specs[i].Shape)
		}
	}
	capacity := cmp.Or(o.Capacity, 100)
	train, eval := &DataQueueOptions{driven: o.driven}, &DataQueueOptions{driven: o.driven}
	if !o.Ordered {
		train.Shuffle, train.MinAfterDequeue, train.Seed = true, capacity*8/10, cmp.Or(o.Seed, 1)
	}
	q.TrainQueue = NewDataQueue(s, "train_queue", capacity, o.TrainChunks.padded(externData, q.specs), train)
	q.EvalQueue = NewDataQueue(s, "eval_queue", capacity, o.EvalChunks.padded(externData, q.specs), eval)
	if o.driven {
		return q // its provider enqueues and tests it by itself
	}
	q.addQuestions(s)
	values := o.EnqueueData
	if values == nil {
		q.placeholders = MakePlaceholders(s, externData, o.WithBatch, append(o.Special, EpochEnd)...)
		values = q.placeholders.Data()
	}
	q.enqueue = effect(s, q.TrainFlag,
		func(s *graph.Scope) *tfbridge.Operation { return q.TrainQueue.Enqueue(s, values) },
		func(s *graph.Scope) *tfbridge.Operation { return q.EvalQueue.Enqueue(s, values) })
	return q
}

// check returns an error if the options are invalid.
func (o *TFDataQueuesOptions) check(e *ExternData) error {
	for _, chunks := range []*Chunking{&o.TrainChunks, &o.EvalChunks} {
		if err := chunks.check(e); err != nil {
			return err
		}
		if chunks.Size > 0 && o.WithBatch {
			return millrace.Errorf(millrace.ErrModel, "the elements are batches (WithBatch) and chunks of %d frames; they can only be one of these", chunks.Size)
		}
	}
	return nil
}

// either adds the operations of build for the queue that the flag selects.
func (q *TFDataQueues) either(s *graph.Scope, build func(s *graph.Scope, q *DataQueue) []tfbridge.Output) []tfbridge.Output {
	return graph.Cond(s, q.TrainFlag,
		func(s *graph.Scope) []tfbridge.Output { return build(s, q.TrainQueue) },
		func(s *graph.Scope) []tfbridge.Output { return build(s, q.EvalQueue) })
}

// addQuestions adds the operations of HaveMore and OneMoreEnqueueIsEnough.
func (q *TFDataQueues) addQuestions(s *graph.Scope) {
	answers := q.either(s, func(s *graph.Scope, q *DataQueue) []tfbridge.Output {
		return []tfbridge.Output{q.haveMore(s), q.oneMore(s)}
	})
	q.haveMore, q.oneMore = answers[0], answers[1]
}

// MakeDequeueOp adds an operation that dequeues an element from the queue that
// TrainFlag chooses; see [DataQueue.Dequeue].
func (q *TFDataQueues) MakeDequeueOp(s *graph.Scope) map[string]tfbridge.Output {
	values := q.either(s, func(s *graph.Scope, from *DataQueue) []tfbridge.Output {
		element := from.Dequeue(s)
		list := []tfbridge.Output{element[EpochEnd]}
		for _, spec := range q.specs {
			list = append(list, element[spec.Name])
		}
		return list
	})
	byName := map[string]tfbridge.Output{EpochEnd: values[0]}
	for i, spec := range q.specs {
		byName[spec.Name] = values[1+i]
	}
	return byName
}

// HaveMore reports whether a dequeue would not wait. It is false as long as the queue
// for training has no more elements than it keeps back.
func (q *TFDataQueues) HaveMore(ctx context.Context, session *tfbridge.Session, train bool) (bool, error) {
	return q.ask(ctx, session, train, "have more", q.haveMore)
}

// OneMoreEnqueueIsEnough reports whether a dequeue would wait now, but not after one more
// enqueue: the queue for training has exactly the elements that it keeps back, or the queue
// for evaluation is empty.
func (q *TFDataQueues) OneMoreEnqueueIsEnough(ctx context.Context, session *tfbridge.Session, train bool) (bool, error) {
	return q.ask(ctx, session, train, "one more", q.oneMore)
}

// ask fetches a bool that depends on the flag.
func (q *TFDataQueues) ask(ctx context.Context, session *tfbridge.Session, train bool, name string, of tfbridge.Output) (bool, error) {
	flag, err := tfbridge.NewTensor(train)
	if err != nil {
		return false, err
	}
	defer flag.Close()
	return q.runs.test(ctx, session, name, []*tfbridge.Tensor{flag}, runSpec{
		feeds: []tfbridge.Output{q.TrainFlag}, fetches: []tfbridge.Output{of},
	})
}

// Enqueue enqueues an element, and waits while the queue is full. If the queues take
// placeholders, data has their values: the data, the sizes that vary, the special keys
// of the options, and [EpochEnd], which ends the epoch if it is true. Otherwise data is
// nil.
func (q *TFDataQueues) Enqueue(ctx context.Context, session *tfbridge.Session, train bool, data Element) error {
	if (data != nil) != (q.placeholders != nil) {
		return millrace.Errorf(millrace.ErrModel, "the queues take data exactly if they were made without EnqueueData")
	}
	flag, err := tfbridge.NewTensor(train)
	if err != nil {
		return err
	}
	defer flag.Close()
	spec := runSpec{feeds: []tfbridge.Output{q.TrainFlag}, targets: []*tfbridge.Operation{q.enqueue}}
	values := []*tfbridge.Tensor{flag}
	if q.placeholders != nil {
		feeds, list, err := q.placeholders.feed(data)
		if err != nil {
			return err
		}
		spec.feeds, values = append(spec.feeds, feeds...), append(values, list...)
	}
	return q.runs.do(ctx, session, "enqueue", values, spec)
}

// clear adds an operation that empties both queues, while nothing else uses them.
func (q *TFDataQueues) clear(s *graph.Scope) *tfbridge.Operation {
	return graph.NoOp(s, q.TrainQueue.clear(s), q.EvalQueue.clear(s))
}

// Pipe returns the queue for training, or the one for evaluation, as a [Pipe].
func (q *TFDataQueues) Pipe(train bool) Pipe { return dataPipe{q, train} }

// dataPipe is one of two data queues.
type dataPipe struct {
	queues *TFDataQueues
	train  bool
}

// HaveDataForDequeue calls HaveMore.
func (p dataPipe) HaveDataForDequeue(ctx context.Context, session *tfbridge.Session) (bool, error) {
	return p.queues.HaveMore(ctx, session, p.train)
}
