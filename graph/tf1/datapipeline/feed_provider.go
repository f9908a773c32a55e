package datapipeline

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"math/rand/v2"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// FeedDictDataProvider is a [DataProvider] that reads, cuts and batches sequences in
// Go, in a goroutine, and feeds placeholders. [NewFeedDictDataProvider] makes one.
type FeedDictDataProvider struct {
	progress
	externData   *ExternData
	options      FeedDictOptions
	placeholders *Placeholders // nil with a TFQueue
	queue        *feedQueue    // nil: the batches are fed
	epoch        *Epoch
	source       feedSource    // nil: nothing runs
	lock         chan struct{} // holds a token while no goroutine uses the fields below
	waiting      *fedBatch     // the next batch, buffered by HaveMoreData
	taken        *fedBatch     // the batch being fed
	reported     bool          // HaveMoreData or FeedDict returned the error of the source
}

// FeedDictOptions are the options of a FeedDictDataProvider.
type FeedDictOptions struct {
	Options
	// SingleThreaded makes each batch on demand, without a goroutine. The batches are the
	// same.
	SingleThreaded bool
	// TFQueue replaces the placeholders: they go into the queue in the graph while the
	// model computes, and a run is only fed the queues' TrainFlag. The queues must have
	// a batch dimension and the special keys SeqTag and SeqIdx, and belong to this
	// provider alone. If the queue for training shuffles, the batches come in another
	// order, and progress counts them in the order they were made. TFQueue excludes
	// SingleThreaded.
	TFQueue *TFDataQueues
}

// NewFeedDictDataProvider adds placeholders to a graph and returns the provider that
// feeds them. The options must have a Batching.
func NewFeedDictDataProvider(s *graph.Scope, externData *ExternData, o *FeedDictOptions) (*FeedDictDataProvider, error) {
	if o == nil {
		o = &FeedDictOptions{}
	}
	if err := o.check(externData); err != nil {
		return nil, err
	}
	p := &FeedDictDataProvider{externData: externData, options: *o, lock: make(chan struct{}, 1)}
	var err error
	if p.options.Options, err = o.withContext(externData); err != nil {
		return nil, err
	}
	p.lock <- struct{}{}
	if o.TFQueue == nil {
		p.placeholders = MakePlaceholders(s, externData, true, SeqTag, SeqIdx)
		return p, s.Err()
	}
	if o.SingleThreaded {
		return nil, millrace.Errorf(millrace.ErrModel, "SingleThreaded and TFQueue exclude each other: a queue needs a goroutine that fills it")
	}
	p.queue, err = newFeedQueue(s, externData, o.TFQueue)
	return p, err
}

// Data returns the placeholders, or the outputs of the TFQueue; see [DataProvider].
// TensorFlow cannot fetch a placeholder that is fed, only an Identity of it.
func (p *FeedDictDataProvider) Data() map[string]tfbridge.Output {
	if p.queue != nil {
		return maps.Clone(p.queue.data)
	}
	return p.placeholders.Data()
}

// feeds returns the outputs that FeedDict returns values for.
func (p *FeedDictDataProvider) feeds() []tfbridge.Output {
	if p.queue != nil {
		return []tfbridge.Output{p.queue.queues.TrainFlag}
	}
	feeds := make([]tfbridge.Output, len(p.placeholders.specs))
	for i, spec := range p.placeholders.specs {
		feeds[i] = p.placeholders.outputs[spec.Name]
	}
	return feeds
}

// InitDataset chooses dataset and epoch; see [DataProvider].
func (p *FeedDictDataProvider) InitDataset(dataset Dataset, epoch *Epoch) error {
	if err := checkInit(p.source != nil, dataset, epoch); err != nil {
		return err
	}
	p.epoch = epoch
	p.begin(dataset)
	return nil
}

// checkInit returns an error if InitDataset may not be called now.
func checkInit(running bool, dataset Dataset, epoch *Epoch) error {
	if running {
		return millrace.Errorf(millrace.ErrModel, "the threads are running; call StopThreads before InitDataset")
	}
	if dataset == nil || epoch == nil {
		return millrace.Errorf(millrace.ErrModel, "the dataset or the epoch is nil")
	}
	return nil
}

// checkStart returns an error if StartThreads may not be called now.
func checkStart(running bool, epoch *Epoch) error {
	if epoch == nil {
		return millrace.Errorf(millrace.ErrModel, "there is no dataset; call InitDataset before StartThreads")
	}
	if running {
		return millrace.Errorf(millrace.ErrModel, "the threads are running; call StopThreads before StartThreads")
	}
	return nil
}

// StartThreads starts reading the epoch from its beginning; see [DataProvider]. The
// session may be nil without a TFQueue.
func (p *FeedDictDataProvider) StartThreads(ctx context.Context, session *tfbridge.Session) error {
	if err := checkStart(p.source != nil, p.epoch); err != nil {
		return err
	}
	batches, capacity := p.batches, p.options.capacity()
	if p.queue != nil {
		// The queue bounds the number of batches. The source must be able to fill it: a
		// shuffling queue that is not full keeps every batch back.
		capacity = p.queue.queues.TrainQueue.capacity
		if err := p.queue.start(ctx, session, p.epoch.Train); err != nil {
			return err
		}
		batches = func(ctx context.Context) iter.Seq2[*fedBatch, error] { return p.queue.fill(ctx, p.batches(ctx)) }
	}
	p.begin(p.dataset)
	p.reported = false
	if p.options.SingleThreaded {
		p.source = startPull(ctx, batches)
	} else {
		p.source = startThread(ctx, capacity, batches)
	}
	return nil
}

// batches yields the batches of the epoch.
func (p *FeedDictDataProvider) batches(ctx context.Context) iter.Seq2[*fedBatch, error] {
	o := p.options.forEpoch(p.epoch)
	random := rand.New(rand.NewPCG(uint64(o.Seed), uint64(p.epoch.Number)))
	sequences := shuffled(p.sequences(ctx), o.ShuffleSeqs, random)
	rows := shuffled(o.Chunking.cut(sequences, p.externData.defaultInput()), o.ShuffleChunks, random)
	b := &batcher{p.externData, &o.Chunking, &o.Batching}
	return b.batches(rows)
}

// StopThreads stops reading; see [DataProvider].
func (p *FeedDictDataProvider) StopThreads() error {
	if p.source == nil {
		return nil
	}
	err := p.source.stop()
	<-p.lock
	defer func() { p.lock <- struct{}{} }()
	p.drop()
	p.source = nil
	if p.reported || errors.Is(err, millrace.ErrCanceled) {
		err = nil
	}
	if p.queue != nil {
		return errors.Join(err, p.queue.stop())
	}
	return err
}

// drop closes the provider's batches.
func (p *FeedDictDataProvider) drop() {
	for _, batch := range []*fedBatch{p.waiting, p.taken} {
		if batch != nil {
			batch.Close()
		}
	}
	p.waiting, p.taken = nil, nil
}

// HaveMoreData reports whether there is another batch; see [DataProvider].
func (p *FeedDictDataProvider) HaveMoreData(ctx context.Context) (bool, error) {
	select {
	case <-p.lock:
		defer func() { p.lock <- struct{}{} }()
	case <-ctx.Done():
		return false, millrace.Canceled(ctx, "wait for a batch")
	}
	err := p.peek(ctx)
	if err == io.EOF {
		return false, nil
	}
	return err == nil, err
}

// peek buffers the next batch. It returns io.EOF at the end. The caller holds the lock.
func (p *FeedDictDataProvider) peek(ctx context.Context) (err error) {
	if p.waiting != nil {
		return nil
	}
	if p.source == nil {
		return io.EOF
	}
	p.waiting, err = p.source.next(ctx)
	switch {
	case err == io.EOF:
		p.end()
	case err != nil && ctx.Err() == nil:
		p.reported = true
	}
	return err
}

// FeedDict takes the next batch and returns the values of the placeholders; see
// [DataProvider].
func (p *FeedDictDataProvider) FeedDict(ctx context.Context) (map[tfbridge.Output]*tfbridge.Tensor, error) {
	<-p.lock
	defer func() { p.lock <- struct{}{} }()
	if err := p.peek(ctx); err == io.EOF {
		return nil, errNoData()
	} else if err != nil {
		return nil, err
	}
	waiting := p.waiting
	p.waiting = nil
	p.drop()
	p.taken = waiting
	p.took(waiting.info)
	if p.queue != nil {
		return map[tfbridge.Output]*tfbridge.Tensor{p.queue.queues.TrainFlag: p.queue.flag}, nil
	}
	return p.placeholders.FeedDict(waiting.Element)
}

// errNoData is the error of FeedDict when there is no batch.
func errNoData() error {
	return &millrace.Error{Class: millrace.ErrClosed, Record: -1, Offset: -1, Code: int(tfbridge.OutOfRange),
		Msg: "there is no batch: the epoch has ended, or the threads do not run; HaveMoreData tells", Err: tfbridge.OutOfRange}
}
