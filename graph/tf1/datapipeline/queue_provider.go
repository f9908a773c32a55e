package datapipeline

import (
	"context"
	"errors"
	"slices"
	"sync"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/train"
	"millrace/tfbridge"
)

// QueueDataProvider is a [DataProvider] whose batches are made in the graph. Data goes
// through four levels of queues, by runs in the session of the model. One goroutine
// makes the runs up to the batches, and another stages them:
//
//	DatasetReader          dataset      -> 1. sequences    in Go, which feeds them
//	TFChunkingQueueRunner  1. sequences -> 2. chunks
//	TFBatchingQueue        2. chunks    -> 3. batches
//	CpuToDefaultDevStage   3. batches   -> 4. staging area on the model's device
//
// Levels 1 and 2 have a queue for training and one for evaluation. A provider belongs to
// one graph. It reads any number of datasets, one after the other. [NewQueueDataProvider]
// makes one.
type QueueDataProvider struct {
	progress
	externData *ExternData
	options    Options
	graph      *tfbridge.Graph

	placeholders *Placeholders
	sequences    byMode[*DataQueue] // level 1
	enqueues     byMode[*tfbridge.Operation]
	ends         byMode[*tfbridge.Operation] // end the epoch
	chunks       *TFDataQueues               // level 2
	chunkers     byMode[*TFChunkingQueueRunner]
	batches      *TFBatchingQueue      // level 3
	stage        *CpuToDefaultDevStage // level 4
	clears       []*tfbridge.Operation // empty all levels
	runs         runs
	ready        runs // runs that never wait

	epoch   *Epoch
	driver  *driver // driver of the epoch
	reader  *DatasetReader
	coord   *train.Coordinator // nil: nothing runs
	unwatch func() bool        // stops watching StartThreads' context
	session *tfbridge.Session

	state struct {
		sync.Mutex
		started  bool
		err      error // the first error of the goroutines
		reported bool  // whether HaveMoreData has returned err
	}
}

// byMode is a pair: a value for training and a value for evaluation.
type byMode[T any] struct{ train, eval T }

func (m byMode[T]) get(train bool) T {
	if train {
		return m.train
	}
	return m.eval
}

// NewQueueDataProvider adds the queues to a graph, and the operations that move data
// between them. The staging area is on the scope's device. The options must have a
// Batching.
func NewQueueDataProvider(s *graph.Scope, externData *ExternData, o *Options) (*QueueDataProvider, error) {
	if o == nil {
		o = &Options{}
	}
	if err := o.check(externData); err != nil {
		return nil, err
	}
	options, err := o.withContext(externData)
	if err != nil {
		return nil, err
	}
	s = s.SubScope("queue_data_provider")
	p := &QueueDataProvider{externData: externData, options: options, graph: s.Graph(), ready: runs{ready: true}}
	cpu := s.WithDevice("/cpu:0")
	p.addSequences(cpu)
	p.addChunks(cpu)
	p.batches = NewTFBatchingQueue(cpu, externData, p.chunks, &TFBatchingQueueOptions{o.Batching, o.Capacity})
	p.stage = NewCpuToDefaultDevStage(s, externData, p.batches.Output, stageCapacity)
	if err := s.Err(); err != nil {
		return nil, err
	}
	p.clears = append(p.stage.clears, p.sequences.train.clear(cpu), p.sequences.eval.clear(cpu), p.chunks.clear(cpu), p.batches.clear(cpu))
	return p, s.Err()
}

const (
	seqCapacity   = 10  // sequences in a queue that does not shuffle
	chunkCapacity = 100 // minimum capacity of a queue of chunks
	stageCapacity = 2   // batches on the device, in addition to those that the model computes with
)

// special are the special keys of the elements of levels 1 to 3.
func special() []string { return []string{SeqTag, SeqIdx} }

// addSequences adds level 1.
func (p *QueueDataProvider) addSequences(s *graph.Scope) {
	p.placeholders = MakePlaceholders(s, p.externData, false, special()...)
	specs := p.externData.components(special()...)
	capacity, o := p.options.buffer(p.options.ShuffleSeqs, seqCapacity)
	p.sequences.train = NewDataQueue(s, "train_seq_queue", capacity, specs, o)
	p.sequences.eval = NewDataQueue(s, "eval_seq_queue", seqCapacity, specs, nil)
	values := p.placeholders.Data()
	p.enqueues = byMode[*tfbridge.Operation]{p.sequences.train.Enqueue(s, values), p.sequences.eval.Enqueue(s, values)}
	p.ends = byMode[*tfbridge.Operation]{p.sequences.train.end(s), p.sequences.eval.end(s)}
}

// buffer returns the capacity of a queue for training, and its shuffling.
func (o *Options) buffer(size, ordered int) (int, *DataQueueOptions) {
	if size <= 1 {
		return ordered, nil
	}
	return size, &DataQueueOptions{Shuffle: true, MinAfterDequeue: size * 8 / 10, Seed: o.Seed}
}

// addChunks adds level 2.
func (p *QueueDataProvider) addChunks(s *graph.Scope) {
	training, evaluation := p.options.forEpoch(&Epoch{Train: true}), p.options.forEpoch(&Epoch{})
	trainChunks, evalChunks := training.padded(p.externData), evaluation.padded(p.externData)
	capacity, _ := p.options.buffer(p.options.ShuffleChunks, p.options.chunkCapacity(p.externData))
	p.chunks = NewTFDataQueues(s, p.externData, &TFDataQueuesOptions{
		Capacity: capacity, Ordered: p.options.ShuffleChunks <= 1, Seed: p.options.Seed, Special: special(),
		TrainChunks: trainChunks, EvalChunks: evalChunks, driven: true,
	})
	p.chunkers.train = NewTFChunkingQueueRunner(s, p.externData, p.sequences.train.Dequeue, &TFChunkingQueueRunnerOptions{training.Chunking, p.chunks.TrainQueue})
	p.chunkers.eval = NewTFChunkingQueueRunner(s, p.externData, p.sequences.eval.Dequeue, &TFChunkingQueueRunnerOptions{evaluation.Chunking, p.chunks.EvalQueue})
}

// chunkCapacity returns the capacity of a queue of chunks that does not shuffle: the chunks
// of two batches, so that the chunks of one are cut while the other is batched.
func (o *Options) chunkCapacity(e *ExternData) int {
	rows := o.Batching.MaxSeqs
	for _, key := range e.timeKeys() {
		if chunks := o.padded(e); chunks.Size > 0 && (rows == 0 || rows > o.Batching.BatchSize/chunks.length(key)) {
			rows = o.Batching.BatchSize / chunks.length(key)
		}
	}
	return min(max(chunkCapacity, 2*rows), maxPiece)
}

// padded returns the chunking if short chunks are padded to the length of the others, and
// otherwise the zero Chunking. Some users set a size that only extreme sequences reach, to
// keep all others whole. Padding to such a size would waste most of each batch. So padded
// requires that several chunks fit into a batch.
func (o *Options) padded(e *ExternData) Chunking {
	const several = 4
	for _, key := range e.timeKeys() {
		if o.Chunking.length(key) > o.Batching.BatchSize/several {
			return Chunking{}
		}
	}
	return o.Chunking
}

// Data returns the tensors of a batch; see [DataProvider]. A run that computes with any
// of them takes a batch, and must have been preceded by FeedDict.
func (p *QueueDataProvider) Data() map[string]tfbridge.Output { return p.stage.Data() }

// InitDataset chooses dataset and epoch; see [DataProvider].
func (p *QueueDataProvider) InitDataset(dataset Dataset, epoch *Epoch) error {
	if err := checkInit(p.coord != nil, dataset, epoch); err != nil {
		return err
	}
	reader, err := NewDatasetReader(p.externData, dataset, p.move, &DatasetReaderOptions{WithSeqTag: true, WithSeqIdx: true})
	if err != nil {
		return err
	}
	p.reader, p.epoch = reader, epoch
	p.begin(dataset)
	return nil
}

// enqueue feeds a sequence to level 1.
func (p *QueueDataProvider) enqueue(ctx context.Context, e Element) error {
	o := p.options.forEpoch(p.epoch)
	if err := o.Chunking.checkAligned(p.externData, e); err != nil {
		return err
	}
	feeds, values, err := p.placeholders.feed(e)
	if err != nil {
		return err
	}
	return p.driver.do(ctx, p.mode("enqueue"), values, runSpec{feeds: feeds, targets: []*tfbridge.Operation{p.enqueues.get(p.epoch.Train)}})
}

// mode returns the name of a run for training or for evaluation.
func (p *QueueDataProvider) mode(name string) string {
	if p.epoch.Train {
		return name + " for training"
	}
	return name + " for evaluation"
}

// StartThreads starts the four goroutines; see [DataProvider].
func (p *QueueDataProvider) StartThreads(ctx context.Context, session *tfbridge.Session) error {
	if err := checkStart(p.coord != nil, p.epoch); err != nil {
		return err
	}
	if session == nil || session.Graph() != p.graph {
		return millrace.Errorf(millrace.ErrModel, "the session is not of the graph that the provider was made in; each graph needs a provider of its own")
	}
	p.session = session
	if err := p.empty(ctx); err != nil {
		return err
	}
	p.begin(p.dataset)
	p.batches.made.Store(0)
	p.driver = p.newDriver()
	threads := p.threads()
	for _, thread := range threads {
		for _, a := range thread.activities {
			a.start() // all threads, before any of them looks at another
		}
	}
	p.state.Lock()
	p.state.started, p.state.err, p.state.reported = true, nil, false
	p.state.Unlock()
	// The provider itself reports a context that is done. So the coordinator gets a context
	// that is never done, and Join returns only the goroutines that end late.
	p.coord = train.NewCoordinator(context.WithoutCancel(ctx), nil)
	coord := p.coord
	p.unwatch = context.AfterFunc(ctx, func() { p.fail(coord, millrace.Canceled(ctx, "read of dataset "+p.DatasetName())) })
	for _, thread := range threads {
		coord.Go(thread.name, func(ctx context.Context) error {
			if err := thread.loop(ctx); err != nil {
				p.fail(coord, err)
			}
			return nil
		})
	}
	return nil
}

// thread is one of the goroutines.
type thread struct {
	name       string
	activities []*activity
	loop       func(ctx context.Context) error
}

// threads returns the goroutines of the epoch, in the order in which data passes them.
func (p *QueueDataProvider) threads() []thread {
	chunker := p.chunkers.get(p.epoch.Train)
	return []thread{
		{"DatasetReader", []*activity{&p.reader.activity, &chunker.activity, &p.batches.activity}, p.drive},
		{"CpuToDefaultDevStage", []*activity{&p.stage.activity}, func(ctx context.Context) error { return p.stage.loop(ctx, p.session, p.batches) }},
	}
}

// fail stops the goroutines because of an error. It keeps the first one.
func (p *QueueDataProvider) fail(coord *train.Coordinator, err error) {
	p.state.Lock()
	if p.state.err == nil {
		p.state.err = err
	}
	p.state.Unlock()
	coord.RequestStop(nil)
}

// StopThreads stops the goroutines and empties the queues; see [DataProvider]. If the
// dataset ignores its context, StopThreads returns after two minutes with an error, and
// may be called again.
func (p *QueueDataProvider) StopThreads() error {
	if p.coord == nil {
		return nil
	}
	p.state.Lock()
	first, reported := p.state.err, p.state.reported
	p.state.started = false
	p.state.Unlock()
	p.unwatch()
	p.coord.RequestStop(nil)
	if err := p.coord.Join(); err != nil {
		return err
	}
	p.coord = nil
	if reported || errors.Is(first, millrace.ErrCanceled) {
		first = nil
	}
	return errors.Join(first, p.empty(context.Background()))
}

// empty drops the contents of the queues and of the staging area. Nothing else may use
// them.
func (p *QueueDataProvider) empty(ctx context.Context) error {
	p.stage.forget()
	return p.runs.do(ctx, p.session, "empty", nil, runSpec{targets: p.clears})
}

// Threads returns the names of the running goroutines. Only the goroutine that starts and
// stops them may call it.
func (p *QueueDataProvider) Threads() []string {
	if p.coord == nil {
		return nil
	}
	var names []string
	for _, thread := range p.threads() {
		if slices.ContainsFunc(thread.activities, (*activity).IsRunning) {
			names = append(names, thread.name)
		}
	}
	return names
}

// HaveMoreData reports whether there is another batch; see [DataProvider].
func (p *QueueDataProvider) HaveMoreData(ctx context.Context) (bool, error) {
	for {
		changed, running := p.stage.Changed(), p.stage.IsRunning()
		switch {
		case p.stage.HaveData():
			return true, nil
		case !running || !p.started():
			return false, p.ended()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, millrace.Canceled(ctx, "wait for a batch")
		}
	}
}

// started reports whether the goroutines were started and not stopped.
func (p *QueueDataProvider) started() bool {
	p.state.Lock()
	defer p.state.Unlock()
	return p.state.started
}

// ended records the end of the epoch, or returns the error that came before it.
func (p *QueueDataProvider) ended() error {
	p.state.Lock()
	defer p.state.Unlock()
	if !p.state.started {
		return nil
	}
	err := p.stage.Err()
	if err == nil {
		p.end()
		return nil
	}
	p.state.reported = true
	if p.state.err != nil {
		return p.state.err
	}
	return err
}

// FeedDict reserves the next batch for a run. It returns no values to feed; see
// [DataProvider].
func (p *QueueDataProvider) FeedDict(ctx context.Context) (map[tfbridge.Output]*tfbridge.Tensor, error) {
	more, err := p.HaveMoreData(ctx)
	if err != nil {
		return nil, err
	}
	info, ok := p.stage.take()
	if !more || !ok {
		return nil, errNoData()
	}
	p.took(info)
	return map[tfbridge.Output]*tfbridge.Tensor{}, nil
}
