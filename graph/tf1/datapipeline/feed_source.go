package datapipeline

import (
	"context"
	"errors"
	"io"
	"iter"

	"millrace"
	"millrace/tfbridge"
)

// feedSource returns batches made in Go.
type feedSource interface {
	// next returns the next batch, which the caller closes; io.EOF at the end.
	next(ctx context.Context) (*fedBatch, error)
	// stop ends the source and frees its batches. It returns the error that ended the
	// source, even if next has returned it.
	stop() error
}

// threaded makes batches in a goroutine, ahead of next.
type threaded struct {
	cancel context.CancelFunc
	made   chan *fedBatch // closed when the goroutine ends
	err    error          // why the goroutine ended; valid once made is closed
}

// startThread starts a goroutine that prefetches up to capacity batches.
func startThread(ctx context.Context, capacity int, batches func(ctx context.Context) iter.Seq2[*fedBatch, error]) *threaded {
	t := &threaded{made: make(chan *fedBatch, capacity)}
	ctx, t.cancel = context.WithCancel(ctx)
	go func() {
		defer close(t.made)
		t.err = t.run(ctx, batches(ctx))
	}()
	return t
}

func (t *threaded) run(ctx context.Context, batches iter.Seq2[*fedBatch, error]) error {
	for batch, err := range batches {
		if err != nil {
			return err
		}
		select {
		case t.made <- batch:
		case <-ctx.Done():
			batch.Close()
			return millrace.Canceled(ctx, "make batches")
		}
	}
	return nil
}

func (t *threaded) next(ctx context.Context) (*fedBatch, error) {
	select {
	case batch, ok := <-t.made:
		switch {
		case ok:
			return batch, nil
		case t.err != nil:
			return nil, t.err
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, millrace.Canceled(ctx, "wait for a batch")
	}
}

func (t *threaded) stop() error {
	t.cancel()
	for batch := range t.made {
		batch.Close()
	}
	return t.err
}

// pulled makes a batch when next asks for it.
type pulled struct {
	pull  func() (*fedBatch, error, bool)
	end   func()
	err   error
	close context.CancelFunc
}

// startPull starts a source without a goroutine.
func startPull(ctx context.Context, batches func(ctx context.Context) iter.Seq2[*fedBatch, error]) *pulled {
	p := &pulled{}
	ctx, p.close = context.WithCancel(ctx)
	p.pull, p.end = iter.Pull2(batches(ctx))
	return p
}

func (p *pulled) next(context.Context) (*fedBatch, error) {
	batch, err, ok := p.pull()
	if !ok {
		return nil, io.EOF
	}
	p.err = err
	return batch, err
}

func (p *pulled) stop() error {
	p.close()
	p.end()
	return p.err
}

// sequences yields the sequences that a reader reads, copied into Go's memory.
func (p *FeedDictDataProvider) sequences(ctx context.Context) iter.Seq2[*sequence, error] {
	return func(yield func(*sequence, error) bool) {
		stopped := false
		copied := func(_ context.Context, e Element) error {
			seq, err := p.copied(e)
			if err != nil {
				return err
			}
			if stopped = !yield(seq, nil); stopped {
				return errStop
			}
			return nil
		}
		reader, err := NewDatasetReader(p.externData, p.dataset, copied, &DatasetReaderOptions{WithSeqTag: true, WithSeqIdx: true})
		if err == nil {
			err = reader.Loop(ctx, p.epoch.Number)
		}
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// errStop ends a loop whose consumer has stopped.
var errStop = errors.New("stop")

// copied copies an element into Go's memory.
func (p *FeedDictDataProvider) copied(e Element) (*sequence, error) {
	o := p.options.forEpoch(p.epoch)
	if err := o.Chunking.checkAligned(p.externData, e); err != nil {
		return nil, err
	}
	tag, err := e[SeqTag].StringAt(0)
	if err != nil {
		return nil, err
	}
	idx, err := tfbridge.View[int32](e[SeqIdx])
	if err != nil {
		return nil, err
	}
	seq := &sequence{tag: tag, idx: idx[0], data: map[string]array{}}
	for _, key := range p.externData.Keys() {
		if seq.data[key], err = newArray(e[key]); err != nil {
			return nil, err
		}
	}
	return seq, nil
}
