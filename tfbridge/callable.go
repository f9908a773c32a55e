package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"runtime"
	"slices"
	"unsafe"

	"millrace"
)

// Callable is a run prepared once, to be made many times. Many goroutines may
// use it at a time. It needs no Close.
type Callable struct {
	s       *Session
	feeds   []feed
	in, out []C.TF_Output
	targets []*C.TF_Operation
	inline  C.int // run the operations in the calling thread
}

// Inline makes runs of c compute in the calling thread instead of TensorFlow's
// pool of threads for operations: for small graphs the hand-over costs more
// than the work. Operations still spread over the threads of their own. It
// returns c. The graph must not be one whose operations wait for each other.
//
// It sets RunOptions.inter_op_thread_pool to -1.
func (c *Callable) Inline() *Callable {
	c.inline = 1
	return c
}

// feed is what is known of a value to be fed.
type feed struct {
	name  string
	dtype DataType
	shape Shape
}

// Prepare checks a run and converts it for C. The values for feeds are given
// to each Run, in the same order.
func (s *Session) Prepare(feeds, fetches []Output, targets []*Operation) (*Callable, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.g.check(); err != nil {
		return nil, err
	}
	c := &Callable{s: s}
	var err error
	if c.in, err = s.g.outputs(feeds); err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "feed: %w", err)
	}
	if c.out, err = s.g.outputs(fetches); err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "fetch: %w", err)
	}
	if c.targets, err = s.g.operations(targets); err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "target: %w", err)
	}
	if len(fetches) == 0 && len(targets) == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "nothing to run: no fetches and no targets")
	}
	return c, c.checkOutputs(feeds, fetches)
}

// checkOutputs refuses feeds that come twice and fetches that Go cannot hold.
func (c *Callable) checkOutputs(feeds, fetches []Output) error {
	for i, o := range feeds {
		f := feed{name: o.String(), dtype: o.DataType().base(), shape: o.Shape()}
		if slices.Contains(c.in[:i], c.in[i]) {
			return millrace.Errorf(millrace.ErrModel, "%s is fed twice", f.name)
		}
		c.feeds = append(c.feeds, f)
	}
	for _, o := range fetches {
		if dt := o.DataType().base(); dt.goType() == nil {
			return millrace.Errorf(millrace.ErrModel, "%v of type %v cannot be fetched", o, dt)
		}
	}
	return nil
}

// Run makes the run and returns the fetches, which the caller closes. When ctx
// ends first it returns an error of class millrace.ErrCanceled at once, while
// the run goes on by itself and its results are freed; the session stays
// usable. The values may be closed as soon as Run returns.
//
// It wraps TF_SessionRun.
func (c *Callable) Run(ctx context.Context, values []*Tensor) ([]*Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, errCanceled(ctx)
	}
	if err := c.checkValues(values); err != nil {
		return nil, err
	}
	r, err := c.begin(values)
	if err != nil {
		return nil, err
	}
	if err := blocking.acquire(ctx, c.s.closing); err != nil {
		r.end()
		return nil, err
	}
	if ctx.Done() == nil {
		return r.run()
	}
	return r.runBeside(ctx)
}

// checkValues compares values with what they are for: TensorFlow would report
// a mismatch from somewhere deep in the graph.
func (c *Callable) checkValues(values []*Tensor) error {
	if len(values) != len(c.feeds) {
		return millrace.Errorf(millrace.ErrModel, "%d values for %d feeds", len(values), len(c.feeds))
	}
	for i, t := range values {
		f := &c.feeds[i]
		switch {
		case !t.isOpen():
			return millrace.Errorf(millrace.ErrClosed, "value for %s is nil or closed", f.name)
		case t.dtype != f.dtype:
			return millrace.Errorf(millrace.ErrModel, "%s takes type %v, got %v", f.name, f.dtype, t.dtype)
		case !f.shape.compatible(t.dims):
			return millrace.Errorf(millrace.ErrModel, "%s takes shape %v, got %v", f.name, f.shape, t.dims)
		}
	}
	return nil
}

// run is one run under way. It holds its session and its values, so that they
// outlive it whoever closes them.
type run struct {
	c      *Callable
	values []*Tensor
	ptrs   []*C.TF_Tensor // of the values, then of the results
}

// begin takes hold of what a run needs.
func (c *Callable) begin(values []*Tensor) (*run, error) {
	if !c.s.h.hold() {
		return nil, errClosed("session")
	}
	r := &run{c: c, ptrs: make([]*C.TF_Tensor, len(values)+len(c.out))}
	for i, t := range values {
		if !t.h.hold() {
			r.values = values[:i]
			r.end()
			return nil, errClosed("tensor")
		}
		r.ptrs[i] = t.h.p
	}
	r.values = values
	return r, nil
}

// end lets go.
func (r *run) end() {
	for _, t := range r.values {
		t.h.release()
	}
	r.c.s.h.release()
}

// run makes the run, in a place that the limiter gave.
func (r *run) run() ([]*Tensor, error) {
	defer r.end()
	defer blocking.release()
	c, n := r.c, len(r.values)
	defer runtime.KeepAlive(c)
	st := C.mr_run(c.s.h.p, c.inline,
		unsafe.SliceData(c.in), unsafe.SliceData(r.ptrs), C.int(n),
		unsafe.SliceData(c.out), unsafe.SliceData(r.ptrs[n:]), C.int(len(c.out)),
		unsafe.SliceData(c.targets), C.int(len(c.targets)))
	if st != nil {
		defer C.TF_DeleteStatus(st)
		return nil, c.s.wrapRun(statusError("TF_SessionRun", st))
	}
	out := make([]*Tensor, len(c.out))
	for i, p := range r.ptrs[n:] {
		out[i] = adoptTensor(p)
	}
	return out, nil
}

// result is what a run came to.
type result struct {
	out []*Tensor
	err error
}

// runBeside makes the run in a goroutine and waits for it or for ctx.
func (r *run) runBeside(ctx context.Context) ([]*Tensor, error) {
	r.values = slices.Clone(r.values) // the caller may change the slice while the run goes on
	done, left := make(chan result), make(chan struct{})
	go func() {
		var res result
		res.out, res.err = r.run()
		select {
		case done <- res:
		case <-left:
			for _, t := range res.out {
				t.Close()
			}
		}
	}()
	select {
	case res := <-done:
		return res.out, res.err
	case <-ctx.Done():
	}
	select {
	case res := <-done: // both happened; what a run took from an iterator must not be lost
		return res.out, res.err
	default:
		close(left)
		return nil, errCanceled(ctx)
	}
}
