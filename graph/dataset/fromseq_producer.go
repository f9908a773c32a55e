package dataset

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"reflect"
	"sync"

	"millrace"
	"millrace/graph/internal/elements"
	"millrace/tfbridge"
)

// producer is a sequence that an iterator ranges over. Its goroutine collects elements in
// rows. A call takes all buffered elements, or waits for some.
type producer struct {
	src    *source
	from   int64
	ctx    context.Context
	cancel context.CancelFunc
	space  chan struct{} // signals that rows were taken

	mu      sync.Mutex
	columns *elements.Columns
	n       int   // elements in the rows
	count   int64 // elements elements up to the last row
	given   int64 // elements before the rows
	flush   bool  // the next element has another shape
	done    bool  // the sequence has ended
	err     error // why it is done; nil once reported
	waiting *tfbridge.Call
}

func newProducer(src *source, from int64) *producer {
	p := &producer{src: src, from: from, count: from, given: from, space: make(chan struct{}, 1)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.columns = src.layout.Columns(elements.ColumnsOptions{MaxBytes: src.bytes, Empty: src.o.Empty})
	return p
}

// run ranges over the sequence until it ends or a context is done: the session's, or the
// producer's own, which is cancelled with the iterator.
func (p *producer) run(session context.Context) {
	stop := context.AfterFunc(session, p.cancel)
	defer stop()
	abandon := context.AfterFunc(p.ctx, func() { p.finish(p.canceled()) })
	defer abandon()
	var err error
	returned := false
	defer func() { // runs even if the goroutine is ended
		if r := recover(); r != nil {
			err = p.wrap(tfbridge.PanicError(r), "")
		} else if !returned {
			err = p.wrap(millrace.Errorf(millrace.ErrInternal, "the sequence ended its goroutine"), "")
		}
		p.finish(err)
		p.cancel()
	}()
	err = p.src.each(p.ctx, p.from, p)
	returned = true
}

// canceled returns the error of calls after the iterator or its session was closed.
func (p *producer) canceled() error {
	return p.src.errorAt(-1, millrace.ErrCanceled, "canceled: the iterator or its session was closed")
}

// feed ranges over a sequence.
func feed[T any](p *producer, seq iter.Seq2[T, error]) error {
	if seq == nil {
		return p.wrap(millrace.Errorf(millrace.ErrModel, "the sequence is nil"), "")
	}
	box := new(T) // reflects every element without an allocation
	value := reflect.ValueOf(box).Elem()
	for v, err := range seq {
		if err != nil {
			return p.wrap(err, "")
		}
		*box = v
		if more, err := p.push(value); !more || err != nil {
			return err
		}
	}
	return nil
}

// push adds an element to the rows, and waits for space if there is none. It returns false
// if the iterator is closed.
func (p *producer) push(v reflect.Value) (bool, error) {
	for {
		p.mu.Lock()
		fits, err := p.add(v)
		if fits || err != nil || p.done {
			if fits {
				p.count++
				p.n++
			}
			gone := p.done
			p.wakeLocked()
			return !gone, err
		}
		p.wakeLocked()
		select {
		case <-p.space:
		case <-p.ctx.Done():
			return false, nil
		}
	}
}

// add adds an element to the rows if there is space.
func (p *producer) add(v reflect.Value) (bool, error) {
	if p.done || p.flush || p.n == p.src.chunk || p.n > 0 && p.src.o.Batch == 0 && p.columns.Bytes() > p.src.bytes/2 {
		return false, nil
	}
	ok, part, err := p.columns.Add(v)
	if ok {
		return true, nil
	}
	p.columns.Truncate(p.n)
	switch {
	case errors.Is(err, millrace.ErrLimit) && p.n > 0 && p.src.o.Batch == 0:
		p.flush = true // the element may fit when it is alone
		return false, nil
	case err != nil:
		return false, p.wrap(err, part)
	case p.src.o.Batch > 0:
		return false, p.wrap(millrace.Errorf(millrace.ErrSchema, "another shape than the elements before it in the batch"), part)
	}
	p.flush = true
	return false, nil
}

// wrap adds the number of the element and the name of the part to an error.
func (p *producer) wrap(err error, part string) error {
	e := tfbridge.ClassifyError(err)
	e.Loader, e.Record, e.Feature = p.src.name, p.count, part
	return e
}

// finish ends the sequence, once. Its error is delivered after the elements before it.
func (p *producer) finish(err error) {
	p.mu.Lock()
	if p.done {
		p.mu.Unlock()
		return
	}
	p.done, p.err = true, err
	if p.ctx.Err() != nil {
		p.n = 0 // no reader is left
	}
	p.wakeLocked()
}

// take answers a call with the buffered elements, as soon as there are some.
func (p *producer) take(c *tfbridge.Call) {
	p.mu.Lock()
	if p.waiting != nil {
		p.mu.Unlock()
		c.Fail(p.src.errorAt(p.given, millrace.ErrInternal, "two calls at a time"))
		return
	}
	p.waiting = c
	p.wakeLocked()
}

// ready reports whether a call need not wait.
func (p *producer) ready() bool {
	if p.src.o.Batch > 0 {
		return p.done || p.n == p.src.chunk
	}
	return p.done || p.n > 0
}

// wakeLocked answers the waiting call if it can be answered. The caller holds the lock, and
// wakeLocked releases it: code that runs after a call may need it.
func (p *producer) wakeLocked() {
	c := p.waiting
	if c == nil || !p.ready() {
		p.mu.Unlock()
		return
	}
	p.waiting = nil
	if p.n == 0 || p.src.o.Drop && p.n < p.src.o.Batch {
		err := p.err
		if p.ctx.Err() == nil || !errors.Is(err, millrace.ErrCanceled) {
			p.err = nil // reported once
		}
		p.mu.Unlock()
		if err != nil {
			c.Fail(err)
			return
		}
		c.End()
		return
	}
	results, err := p.results(c.Args()[0], p.n)
	p.mu.Unlock()
	select {
	case p.space <- struct{}{}:
	default:
	}
	answer(c, results, err)
}

// answer ends a call.
func answer(c *tfbridge.Call, results []*tfbridge.Tensor, err error) {
	if err == nil {
		c.Return(results...)
		return
	}
	for _, t := range results {
		t.Close()
	}
	c.Fail(err)
}

// results makes the results of a call from the rows, which hold n elements. The tensors
// of a batch are one element of the chunk.
func (p *producer) results(token *tfbridge.Tensor, n int) ([]*tfbridge.Tensor, error) {
	p.given += int64(n)
	p.n, p.flush = 0, false
	given, err := tfbridge.NewTensor(p.given)
	results := []*tfbridge.Tensor{token, given}
	outer := []int64{int64(n)}
	if p.src.o.Batch > 0 {
		outer = []int64{min(int64(n), 1), cmp.Or(int64(n), int64(p.src.o.Batch))}
	}
	if err == nil {
		var parts []*tfbridge.Tensor
		parts, err = p.columns.Tensors(outer...)
		results = append(results, parts...)
	}
	return results, err
}
