package dataset

import (
	"context"
	"iter"
	"sync"

	"millrace"
	"millrace/graph"
)

// Feed takes elements from any number of goroutines for a dataset made by [FromFeed]. It is
// like a channel, but it may be closed while others send; they get an error. A nil Feed and
// the zero value are closed.
type Feed[T any] struct {
	o      FeedOptions
	room   chan struct{} // holds a value for every element
	come   chan struct{} // signals that there is an element, or the end
	closed chan struct{}

	mu      sync.Mutex
	queue   []T
	ended   bool
	err     error
	dropped int64
}

// FeedOptions are the options of [NewFeed].
type FeedOptions struct {
	Buffer     int  // number of elements buffered for the dataset; default 1024
	DropOldest bool // when the feed is full, drop the oldest element instead of waiting
}

// NewFeed returns an open feed. It holds no resources but memory.
func NewFeed[T any](o *FeedOptions) *Feed[T] {
	f := &Feed[T]{come: make(chan struct{}, 1), closed: make(chan struct{})}
	if o != nil {
		f.o = *o
	}
	if f.o.Buffer <= 0 {
		f.o.Buffer = defaultSeqBuffer
	}
	f.room = make(chan struct{}, f.o.Buffer)
	return f
}

// Push adds an element. If the feed is full and does not drop elements, Push waits until
// there is room or ctx is done; then it returns an error of class millrace.ErrCanceled. If
// the feed is closed the error is of class millrace.ErrClosed.
//
// The dataset copies the element when it reads it, so the caller must not change memory that
// the element refers to.
func (f *Feed[T]) Push(ctx context.Context, v T) error {
	if f == nil || f.room == nil {
		return errNoFeed("push")
	}
	if ctx == nil {
		return errNoContext("push")
	}
	if f.o.DropOldest {
		select {
		case f.room <- struct{}{}:
		default:
			return f.add(v, true)
		}
		return f.add(v, false)
	}
	select {
	case <-f.closed:
		return errFeedClosed()
	default:
	}
	select {
	case f.room <- struct{}{}:
		return f.add(v, false)
	case <-f.closed:
		return errFeedClosed()
	case <-ctx.Done():
		return millrace.Canceled(ctx, "push")
	}
}

// errNoFeed returns the error about a feed that is nil or a zero value.
func errNoFeed(what string) error {
	return millrace.Errorf(millrace.ErrClosed, "%s: the feed is nil or a zero value; NewFeed makes one", what)
}

func errFeedClosed() error { return millrace.Errorf(millrace.ErrClosed, "push: the feed is closed") }

// add appends an element, and drops the oldest one if the feed is full.
func (f *Feed[T]) add(v T, full bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		if !full {
			<-f.room
		}
		return errFeedClosed()
	}
	if full && len(f.queue) > 0 {
		f.queue = f.queue[1:]
		f.dropped++
	} else if full { // the oldest element was taken meanwhile
		f.room <- struct{}{}
	}
	f.queue = append(f.queue, v)
	f.wake()
	return nil
}

// wake signals a reader to check again.
func (f *Feed[T]) wake() {
	select {
	case f.come <- struct{}{}:
	default:
	}
}

// Close ends the dataset after the elements that were pushed. Waiting calls of Push fail.
// Later calls do nothing. Close never waits, so a producer may call it.
func (f *Feed[T]) Close() error { return f.CloseWithError(nil) }

// CloseWithError is Close that ends the dataset with an error.
func (f *Feed[T]) CloseWithError(err error) error {
	if f == nil || f.room == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended, f.err = true, err
		close(f.closed)
		f.wake()
	}
	return nil
}

// Dropped returns the number of dropped elements.
func (f *Feed[T]) Dropped() int64 {
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dropped
}

// pop removes the oldest element. It waits for one until ctx is done or the feed is closed.
func (f *Feed[T]) pop(ctx context.Context) (v T, ok bool, err error) {
	for {
		f.mu.Lock()
		if len(f.queue) > 0 {
			v, f.queue = f.queue[0], f.queue[1:]
			if len(f.queue) > 0 || f.ended {
				f.wake() // another reader
			}
			f.mu.Unlock()
			<-f.room
			return v, true, nil
		}
		ended, err := f.ended, f.err
		if ended {
			f.wake()
		}
		f.mu.Unlock()
		if ended {
			return v, false, err
		}
		select {
		case <-f.come:
		case <-ctx.Done():
			f.wake() // another reader may need the signal
			return v, false, nil
		}
	}
}

// FromFeed returns a dataset of the elements pushed to a feed. Iterators share the feed, as
// they share the channel of [FromChan].
func FromFeed[T any](s *graph.Scope, f *Feed[T], o *SeqOptions) *Dataset {
	if f == nil || f.room == nil {
		s.UpdateErr("feed", errNoFeed("FromFeed"))
	}
	if o != nil && o.Replayable {
		s.UpdateErr("feed", millrace.Errorf(millrace.ErrModel, "a feed cannot be replayed"))
	}
	return FromFunc(s, func(ctx context.Context, _ int64) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for ctx.Err() == nil {
				v, ok, err := f.pop(ctx)
				if err != nil {
					yield(v, err)
					return
				}
				if !ok || !yield(v, nil) {
					return
				}
			}
		}
	}, o)
}
