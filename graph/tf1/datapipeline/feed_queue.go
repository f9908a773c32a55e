package datapipeline

import (
	"context"
	"iter"
	"maps"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// feedQueue puts the batches of a feeding provider into queues of the graph.
type feedQueue struct {
	externData *ExternData
	queues     *TFDataQueues
	graph      *tfbridge.Graph
	data       map[string]tfbridge.Output // dequeued batch, by name
	clear      *tfbridge.Operation
	runs       runs
	session    *tfbridge.Session
	flag       *tfbridge.Tensor // whether this is training
}

// newFeedQueue adds the operations that take batches out of the queues.
func newFeedQueue(s *graph.Scope, externData *ExternData, queues *TFDataQueues) (*feedQueue, error) {
	if s.Err() != nil {
		return nil, s.Err()
	}
	if queues.placeholders == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "the TFQueue takes tensors of the graph; a provider needs one without EnqueueData")
	}
	want := MakePlaceholders(s, externData, true, SeqTag, SeqIdx, EpochEnd).specs
	got := queues.placeholders.specs
	for i, spec := range want {
		if len(got) != len(want) || got[i].Name != spec.Name || got[i].DType != spec.DType || !got[i].Shape.Equal(spec.Shape) {
			return nil, millrace.Errorf(millrace.ErrModel, "the TFQueue has the components %v, the batches of the provider are %v; make it WithBatch, with the special keys %q and %q", got, want, SeqTag, SeqIdx)
		}
	}
	q := &feedQueue{externData: externData, queues: queues, graph: s.Graph(), data: queues.MakeDequeueOp(s), clear: queues.clear(s)}
	delete(q.data, EpochEnd)
	return q, s.Err()
}

// start empties the queues for an epoch.
func (q *feedQueue) start(ctx context.Context, session *tfbridge.Session, train bool) (err error) {
	if session == nil || session.Graph() != q.graph {
		return millrace.Errorf(millrace.ErrModel, "the session is not of the graph that the provider was made in; each graph needs a provider of its own")
	}
	q.session = session
	if err := q.empty(ctx); err != nil {
		return err
	}
	q.flag, err = tfbridge.NewTensor(train)
	return err
}

// stop empties the queues.
func (q *feedQueue) stop() error {
	q.flag.Close()
	return q.empty(context.Background())
}

func (q *feedQueue) empty(ctx context.Context) error {
	return q.runs.do(ctx, q.session, "empty", nil, runSpec{targets: []*tfbridge.Operation{q.clear}})
}

// fill enqueues batches, and yields each after it is in the queue, without its tensors.
func (q *feedQueue) fill(ctx context.Context, batches iter.Seq2[*fedBatch, error]) iter.Seq2[*fedBatch, error] {
	return func(yield func(*fedBatch, error) bool) {
		train := q.flag.Value() == true
		for batch, err := range batches {
			if err == nil {
				err = q.enqueue(ctx, train, batch.Element, false)
				batch.Close()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&fedBatch{Element{}, batch.info}, nil) {
				return
			}
		}
		// The end of the epoch releases the batches that a shuffling queue keeps back.
		if err := q.end(ctx, train); err != nil {
			yield(nil, err)
		}
	}
}

// enqueue enqueues a batch, or the end of the epoch.
func (q *feedQueue) enqueue(ctx context.Context, train bool, batch Element, end bool) error {
	t, err := tfbridge.NewTensor(end)
	if err != nil {
		return err
	}
	defer t.Close()
	element := maps.Clone(batch)
	element[EpochEnd] = t
	return q.queues.Enqueue(ctx, q.session, train, element)
}

// end enqueues the end of the epoch.
func (q *feedQueue) end(ctx context.Context, train bool) error {
	zeros := Element{}
	defer func() { zeros.Close() }()
	for _, spec := range q.queues.EvalQueue.specs {
		t, err := zeroTensor(Data{DType: spec.DType, Shape: spec.Shape})
		if err != nil {
			return err
		}
		zeros[spec.Name] = t
	}
	return q.enqueue(ctx, train, zeros, true)
}
