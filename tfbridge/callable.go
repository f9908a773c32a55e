package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"slices"

	"millrace"
)

// Callable is a run prepared once, to be made many times. Many goroutines may
// use it at a time. It needs no Close.
type Callable struct {
	s       *Session
	feeds   []feed
	in, out []C.TF_Output
	targets []*C.TF_Operation
	options []byte  // a RunOptions message; empty for none
	guards  *guards // if runs can be interrupted
	loose   bool    // feed values of any shape
	traced  bool    // the options ask for metadata
}

// Inline makes runs of c compute in the calling thread instead of TensorFlow's
// pool of threads for operations: for small graphs the hand-over costs more
// than the work. Operations still spread over the threads of their own. It
// returns c. The graph must not be one whose operations wait for each other.
//
// It sets RunOptions.inter_op_thread_pool to -1.
func (c *Callable) Inline() *Callable {
	if c != nil {
		c.options = (&RunOptions{Inline: true}).encode()
	}
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
	c, err := s.convert(feeds, fetches, targets)
	if err == nil && len(fetches) == 0 && len(targets) == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "nothing to run: no fetches and no targets")
	}
	return c, err
}

// convert checks a run, or a step of one, and converts it for C.
func (s *Session) convert(feeds, fetches []Output, targets []*Operation) (*Callable, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.g.hold(); err != nil {
		return nil, err
	}
	defer s.g.release()
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
	if err := c.checkOutputs(feeds, fetches); err != nil {
		return nil, err
	}
	return c, nil
}

// checkOutputs refuses feeds that come twice and fetches that Go cannot hold.
func (c *Callable) checkOutputs(feeds, fetches []Output) error {
	for i, o := range feeds {
		f := feed{name: o.String(), dtype: o.DataType().Base(), shape: o.Shape()}
		if slices.Contains(c.in[:i], c.in[i]) {
			return millrace.Errorf(millrace.ErrModel, "%s is fed twice", f.name)
		}
		c.feeds = append(c.feeds, f)
	}
	for _, o := range fetches {
		if dt := o.DataType().Base(); goType(dt) == nil {
			return millrace.Errorf(millrace.ErrModel, "%v of type %v cannot be fetched", o, dt)
		}
	}
	return nil
}

// Run makes the run and returns the fetches, which the caller closes. When ctx
// ends first it returns an error of class millrace.ErrCanceled at once, while
// the run goes on by itself and its results are freed, unless it was prepared
// to be interrupted; the session stays usable. The values may be closed as
// soon as Run returns. A context that cannot end costs nothing; one that can
// costs another goroutine.
//
// It wraps TF_SessionRun.
func (c *Callable) Run(ctx context.Context, values []*Tensor) ([]*Tensor, error) {
	if c == nil || c.s == nil {
		return nil, errClosed("session")
	}
	out := make([]*Tensor, len(c.out))
	if err := c.RunInto(ctx, values, out); err != nil {
		return nil, err
	}
	return out, nil
}

// RunInto is Run that puts the fetches into a slice of the caller's, as long
// as there are fetches: each is then the only allocation that is made for it.
// The slice is as it was after an error.
//
// It wraps TF_SessionRun.
func (c *Callable) RunInto(ctx context.Context, values, fetches []*Tensor) error {
	if ctx == nil {
		return errNoContext()
	}
	if err := ctx.Err(); err != nil {
		return errCanceled(ctx)
	}
	if c == nil || c.s == nil {
		return errClosed("session")
	}
	if len(fetches) != len(c.out) {
		return millrace.Errorf(millrace.ErrModel, "room for %d fetches, there are %d", len(fetches), len(c.out))
	}
	if err := c.checkValues(values); err != nil {
		return err
	}
	if ctx.Done() != nil {
		out, err := c.runBeside(ctx, values)
		copy(fetches, out)
		return err
	}
	r, err := c.begin(values)
	if err != nil {
		return err
	}
	place, err := acquirePlace(ctx, c.s.closing)
	if err != nil {
		r.end()
		return err
	}
	err = r.into(fetches, nil)
	place.release()
	c.s.runs.Put(r)
	return err
}

// runBeside makes the run in a goroutine and waits for it or for ctx.
func (c *Callable) runBeside(ctx context.Context, values []*Tensor) ([]*Tensor, error) {
	return c.besides(ctx, values, (*run).run)
}

// besides calls run in a goroutine for a run that it has begun, and waits for
// it or for ctx.
func (c *Callable) besides(ctx context.Context, values []*Tensor, run func(*run) ([]*Tensor, error)) ([]*Tensor, error) {
	var g *guarded
	if c.guards != nil && ctx.Done() != nil {
		var err error
		if g, err = c.guards.with(c); err != nil {
			return nil, err
		}
		c = &g.call
	}
	// The caller may change the slice while the run goes on.
	r, err := c.begin(slices.Clone(values))
	if err != nil {
		g.back(false)
		return nil, err
	}
	if r.place, err = acquirePlace(ctx, c.s.closing); err != nil {
		r.end()
		g.back(false)
		return nil, err
	}
	return beside(ctx, func() ([]*Tensor, error) { return run(r) }, g)
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
		case !c.loose && !f.shape.IsCompatibleWith(t.dims()):
			return millrace.Errorf(millrace.ErrModel, "%s takes shape %v, got %v", f.name, f.shape, t.dims())
		}
	}
	return nil
}
