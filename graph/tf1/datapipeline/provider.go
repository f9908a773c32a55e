package datapipeline

import (
	"cmp"
	"context"

	"millrace"
	"millrace/tfbridge"
)

// DataProvider feeds a graph with the batches of a dataset, epoch by epoch:
//
//	if err := p.InitDataset(train, &datapipeline.Epoch{Train: true, Number: 3}); err != nil { ... }
//	if err := p.StartThreads(ctx, session); err != nil { ... }
//	defer p.StopThreads()
//	for {
//		more, err := p.HaveMoreData(ctx)
//		if err != nil || !more { ... }
//		feeds, err := p.FeedDict(ctx)
//		if err != nil { ... }
//		session.Run(feeds, fetches, targets) // computes with p.Data()
//	}
//
// [FeedDictDataProvider] makes batches in Go and feeds them. [QueueDataProvider]
// makes them in the graph. From equal data both make equal batches, unless they
// shuffle.
//
// InitDataset, StartThreads, StopThreads and FeedDict are for one goroutine. The
// other methods may be called concurrently.
type DataProvider interface {
	// Data returns the tensors of a batch: the data by key, padded with zeros and
	// empty strings to the longest row; the sizes of the rows without padding by
	// [Size], int32 vectors; and the vectors of [SeqTag] and [SeqIdx]. The first
	// dimension of each is the batch.
	Data() map[string]tfbridge.Output

	// InitDataset chooses the dataset, and the epoch that StartThreads will read.
	// The threads must not be running.
	InitDataset(dataset Dataset, epoch *Epoch) error

	// StartThreads starts the goroutines that read the epoch. They end with it, with
	// ctx, or with StopThreads.
	StartThreads(ctx context.Context, session *tfbridge.Session) error

	// StopThreads ends the goroutines and drops the batches that were not taken. It may be
	// called again. It returns the error that ended the goroutines, unless HaveMoreData or
	// FeedDict returned that before.
	StopThreads() error

	// HaveMoreData reports whether the epoch has another batch, and waits until that is
	// certain. After true, FeedDict does not wait, and the next run has its batch. An error
	// of the dataset comes after the batches before it.
	HaveMoreData(ctx context.Context) (bool, error)

	// FeedDict takes the next batch and returns the values to feed to the run that computes
	// with it. Call it once per run. It waits until there is a batch. At the end of the
	// epoch it fails with code tfbridge.OutOfRange. The tensors are valid until the next
	// call of FeedDict or StopThreads.
	FeedDict(ctx context.Context) (map[tfbridge.Output]*tfbridge.Tensor, error)

	DatasetName() string         // name of InitDataset's dataset
	HaveReachedEnd() bool        // see [FeedDictDataProvider.HaveReachedEnd]
	CompleteFrac() float64       // see [FeedDictDataProvider.CompleteFrac]
	NumFrames() map[string]int64 // see [FeedDictDataProvider.NumFrames]
}

var (
	_ DataProvider = (*FeedDictDataProvider)(nil)
	_ DataProvider = (*QueueDataProvider)(nil)
	_ QueueOutput  = (*CpuToDefaultDevStage)(nil)
	_ Pipe         = (*TFBatchingQueue)(nil)
)

// Epoch describes one pass over a dataset.
type Epoch struct {
	// Train cuts and shuffles the sequences according to the options of the provider.
	// Otherwise each sequence is one row, in the order of the dataset, for evaluation and
	// forwarding.
	Train  bool
	Number int64 // number of the epoch, from 0
}

// Options are the options of a provider.
type Options struct {
	Chunking  Chunking
	Batching  Batching
	ChunkEval bool // cut sequences into chunks outside of training as well

	// ShuffleSeqs and ShuffleChunks are the sizes of the buffers from which sequences and
	// chunks are drawn at random in training. 0 and 1 keep the order.
	ShuffleSeqs, ShuffleChunks int
	Seed                       int64 // seed of the draws

	Capacity int // number of batches buffered for the consumer; 0: 10

	// Network determines the context of the default input, by [ExternData.ContextSize],
	// unless Chunking.Context is set. An empty Chunking.Context means no context, and so
	// does a nil Network.
	Network Network
	// Recurrent declares that the model depends on the order of the frames. Then single
	// frames must not be shuffled: chunks of one frame with ShuffleChunks are refused.
	Recurrent bool
}

// check returns an error if the options are invalid.
func (o *Options) check(e *ExternData) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := o.Chunking.check(e); err != nil {
		return err
	}
	if err := o.Batching.check(); err != nil {
		return err
	}
	if min(o.ShuffleSeqs, o.ShuffleChunks) < 0 || o.Capacity < 0 {
		return millrace.Errorf(millrace.ErrModel, "ShuffleSeqs is %d, ShuffleChunks %d and Capacity %d; none may be negative", o.ShuffleSeqs, o.ShuffleChunks, o.Capacity)
	}
	if o.Recurrent && o.Chunking.Size == 1 && o.ShuffleChunks > 1 {
		return millrace.Errorf(millrace.ErrModel, "chunks of one frame are shuffled (ShuffleChunks is %d), which a recurrent model must not see; set Recurrent to false or a chunk size above 1", o.ShuffleChunks)
	}
	return nil
}

// capacity returns the number of batches buffered for the consumer.
func (o *Options) capacity() int { return cmp.Or(o.Capacity, 10) }

// forEpoch returns the options as they apply to an epoch.
func (o Options) forEpoch(epoch *Epoch) Options {
	if epoch.Train {
		return o
	}
	o.ShuffleSeqs, o.ShuffleChunks = 0, 0
	if !o.ChunkEval {
		o.Chunking = o.Chunking.whole()
	}
	return o
}
