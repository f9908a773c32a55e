package datapipeline

import (
	"context"
	"io"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// Source feeds a model of package estimator with a provider's batches: it is an
// estimator.Source. Training with it reads epoch after epoch. Its position cannot be saved.
type Source struct {
	Dataset Dataset
	Train   bool  // see [Epoch]
	Epochs  int64 // number of epochs, from epoch 0; 0: unlimited, the number of steps ends the run

	// New adds a provider to the model's graph. [QueueSource] and [FeedSource] set it.
	New func(s *graph.Scope) (DataProvider, error)
}

// QueueSource returns a source that makes its batches in the graph.
func QueueSource(dataset Dataset, externData *ExternData, o *Options) *Source {
	return &Source{Dataset: dataset, Train: true, New: func(s *graph.Scope) (DataProvider, error) {
		return NewQueueDataProvider(s, externData, o)
	}}
}

// FeedSource returns a source that makes its batches in Go and feeds them.
func FeedSource(dataset Dataset, externData *ExternData, o *FeedDictOptions) *Source {
	return &Source{Dataset: dataset, Train: true, New: func(s *graph.Scope) (DataProvider, error) {
		return NewFeedDictDataProvider(s, externData, o)
	}}
}

// Pipeline adds a provider to the graph of s.
func (c *Source) Pipeline(_ context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	if c.New == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "the function New of the source is nil")
	}
	provider, err := c.New(s)
	if err != nil {
		return nil, err
	}
	data := provider.Data()
	in := steps.Input{}
	if fed, ok := provider.(*FeedDictDataProvider); ok {
		in.Placeholders = fed.feeds()
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		// TensorFlow cannot fetch a placeholder that is fed.
		in.Tensors = append(in.Tensors, steps.NamedOutput{Name: name, Output: graph.Identity(s, data[name])})
	}
	in.Open = func(ctx context.Context, session *tfbridge.Session, o *steps.Options) (steps.Pass, error) {
		if o.SaveEvery > 0 || o.State != nil {
			return nil, millrace.Errorf(millrace.ErrCheckpoint, "the position in a data provider cannot be saved; use a loader of type chunked_sequence, whose position can")
		}
		p := &sourcePass{source: c, provider: provider, session: session, placeholders: in.Placeholders}
		return p, p.start(ctx)
	}
	return steps.New(in), s.Err()
}

// sourcePass is a pass over the epochs of a source.
type sourcePass struct {
	source       *Source
	provider     DataProvider
	session      *tfbridge.Session
	placeholders []tfbridge.Output
	epoch        int64
	batches      int64 // number of batches taken in the epoch
}

// start begins to read the epoch.
func (p *sourcePass) start(ctx context.Context) error {
	p.batches = 0
	if err := p.provider.InitDataset(p.source.Dataset, &Epoch{Train: p.source.Train, Number: p.epoch}); err != nil {
		return err
	}
	return p.provider.StartThreads(context.WithoutCancel(ctx), p.session)
}

// Next takes the next batch. After the last batch of an epoch it starts the next epoch.
func (p *sourcePass) Next(ctx context.Context) ([]*tfbridge.Tensor, error) {
	for {
		more, err := p.provider.HaveMoreData(ctx)
		if err != nil {
			return nil, err
		}
		if more {
			break
		}
		if err := p.provider.StopThreads(); err != nil {
			return nil, err
		}
		if p.batches == 0 {
			return nil, millrace.Errorf(millrace.ErrSchema, "dataset %s: epoch %d has no frames", p.provider.DatasetName(), p.epoch)
		}
		if p.epoch++; p.epoch == p.source.Epochs {
			return nil, io.EOF
		}
		if err := p.start(ctx); err != nil {
			return nil, err
		}
	}
	p.batches++
	feeds, err := p.provider.FeedDict(ctx)
	values := make([]*tfbridge.Tensor, len(p.placeholders))
	for i, placeholder := range p.placeholders {
		values[i] = feeds[placeholder]
	}
	return values, err
}

// Taken saves nothing.
func (p *sourcePass) Taken(int64) ([]byte, error) { return nil, nil }

// Failed returns err as it is: no batch is in flight that could explain it.
func (p *sourcePass) Failed(_ context.Context, err error) error { return err }

// Close stops reading.
func (p *sourcePass) Close() { p.provider.StopThreads() }
