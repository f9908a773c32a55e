package tfbridge

// #include "capi.h"
import "C"

import (
	"cmp"
	"context"
	"slices"
	"time"

	"millrace"
)

// Callable is a run that is prepared once and made many times. Many goroutines
// may use it concurrently. It needs no Close.
type Callable struct {
	s       *Session
	feeds   []feed
	in, out []C.TF_Output
	targets []*C.TF_Operation
	options []byte  // a RunOptions message; empty for none
	pooled  []byte  // the options without the request for the calling thread
	guards  *guards // makes runs interruptible; nil: they are not

	anyShape  bool          // accept values of another shape than the feed's
	traced    bool          // the options request metadata
	unlimited bool          // runs acquire no slot
	inline    bool          // the options request the calling thread
	deadline  bool          // TensorFlow gets the deadline of a run's context
	timeout   time.Duration // timeout in the options; 0 for none
}

// Inline makes runs of c execute their operations in the calling thread instead of
// TensorFlow's inter-op thread pool. For small graphs the thread switch costs more than
// the work. A single operation still uses the intra-op pool. Inline returns c.
// Operations of the graph must not wait for each other. A run that can be interrupted
// and may loop still uses the pool: see RunOptions.Interrupt.
//
// It sets RunOptions.inter_op_thread_pool to -1.
func (c *Callable) Inline() *Callable {
	if c != nil && !c.inline {
		c.inline, c.pooled = true, c.options
		c.options = append(slices.Clone(c.pooled), (&RunOptions{Inline: true}).encode()...)
	}
	return c
}

// feed describes the values that a feed accepts.
type feed struct {
	name  string
	dtype DataType
	shape Shape
}

// Prepare checks a run and converts its arguments for C. Each Run takes the
// values for feeds, in the same order.
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
	err := c.resolve(feeds, fetches, targets)
	// Outputs of a closed graph have no names and no types. If Close was called
	// meanwhile, the results and errors of resolve are meaningless.
	if closed := cmp.Or(s.check(), s.g.check()); closed != nil {
		return nil, closed
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// resolve checks the outputs and operations of a run and converts them for C.
// The caller holds a reference to the graph.
func (c *Callable) resolve(feeds, fetches []Output, targets []*Operation) (err error) {
	g := c.s.g
	if c.in, err = g.outputs(feeds); err != nil {
		return millrace.Errorf(millrace.ErrModel, "feed: %w", err)
	}
	if c.out, err = g.outputs(fetches); err != nil {
		return millrace.Errorf(millrace.ErrModel, "fetch: %w", err)
	}
	if c.targets, err = g.operations(targets); err != nil {
		return millrace.Errorf(millrace.ErrModel, "target: %w", err)
	}
	return c.checkOutputs(feeds, fetches)
}

// checkOutputs refuses an output that is fed twice, and fetches of a data type
// that has no Go type.
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

// Run makes the run and returns the fetches. The caller closes them, and may
// close the values as soon as Run returns.
//
// When ctx is done Run returns an error of class millrace.ErrCanceled, and the session
// stays usable. If the run was prepared with RunOptions.Interrupt, TensorFlow stops it,
// and Run waits up to a second for that; otherwise Run returns at once, the run
// continues in the background and its results are freed, and [Session.Abandoned] lists
// it meanwhile. A context that can end costs a goroutine, unless it is from [InPlace];
// context.Background costs nothing.
//
// It wraps TF_SessionRun.
func (c *Callable) Run(ctx context.Context, values []*Tensor) ([]*Tensor, error) {
	if c == nil || c.s == nil {
		return nil, errUnusable("callable", c)
	}
	out := make([]*Tensor, len(c.out))
	if err := c.RunInto(ctx, values, out); err != nil {
		return nil, err
	}
	return out, nil
}

// RunInto is Run that stores the fetches in the caller's slice, whose length is
// their number. The fetched tensors are then the only allocations. After an
// error the slice is unchanged.
//
// It wraps TF_SessionRun.
func (c *Callable) RunInto(ctx context.Context, values, fetches []*Tensor) error {
	if ctx == nil {
		return errNoContext()
	}
	if err := ctx.Err(); err != nil {
		return millrace.Canceled(ctx, "")
	}
	if c == nil || c.s == nil {
		return errUnusable("callable", c)
	}
	if len(fetches) != len(c.out) {
		return millrace.Errorf(millrace.ErrModel, "fetches has length %d, the run has %d fetches", len(fetches), len(c.out))
	}
	if err := c.checkValues(values); err != nil {
		return err
	}
	if ctx.Done() != nil {
		out, err := c.runCancelable(ctx, values, (*run).run)
		copy(fetches, out)
		return err
	}
	r, err := c.begin(values)
	if err != nil {
		return err
	}
	slot, err := c.acquireSlot(ctx)
	if err != nil {
		r.end()
		return err
	}
	err = r.execute(fetches, nil)
	slot.release()
	c.s.runs.Put(r)
	return err
}

// acquireSlot waits for a slot for a run, and returns the limiter to release, nil
// if the run needs no slot.
func (c *Callable) acquireSlot(ctx context.Context) (limiter, error) {
	if c.unlimited {
		return nil, nil
	}
	return acquireSlot(ctx, c.s.closing)
}

// runCancelable begins a run, calls execute for it in a goroutine, and waits
// until execute returns or ctx is done.
func (c *Callable) runCancelable(ctx context.Context, values []*Tensor, execute func(*run) ([]*Tensor, error)) ([]*Tensor, error) {
	var g *guarded
	if c.guards != nil && ctx.Done() != nil {
		var err error
		if g, err = c.guards.guard(c); err != nil {
			return nil, err
		}
		c = &g.call
	}
	// The caller may change the slice while the run continues.
	r, err := c.begin(slices.Clone(values))
	if err != nil {
		g.release(false)
		return nil, err
	}
	if r.slot, err = c.acquireSlot(ctx); err != nil {
		r.end()
		g.release(false)
		return nil, err
	}
	here := ctx.Value(inPlace{}) != nil
	if here && g == nil && !c.inline { // a run with a guard needs the pool
		r.options = appendVarint(slices.Clone(c.options), runInterOpPool, callingThread)
	}
	r.setTimeout(ctx)
	if here {
		return runInPlace(ctx, r, execute, g)
	}
	return runAsync(ctx, r, execute, g)
}

// endWithContext makes TensorFlow stop runs of c when their context is done, at no cost
// to runs that end by themselves: guards are only for runs that may loop or wait. A run
// that reads an iterator is stopped too, and spoils it.
func (c *Callable) endWithContext(gs *guards) {
	c.deadline = true
	if h := gs.findHazards(); h.loops || h.waits {
		c.guards = gs
	}
}

// checkValues compares values with their feeds. TensorFlow would report a
// mismatch from an operation deep in the graph.
func (c *Callable) checkValues(values []*Tensor) error {
	if len(values) != len(c.feeds) {
		return millrace.Errorf(millrace.ErrModel, "%d values for %d feeds", len(values), len(c.feeds))
	}
	for i, t := range values {
		f := &c.feeds[i]
		switch {
		case !t.IsOpen():
			return millrace.Errorf(millrace.ErrClosed, "value for %s: %w", f.name, errUnusable("tensor", t))
		case t.dtype != f.dtype:
			return millrace.Errorf(millrace.ErrModel, "%s takes type %v, got %v", f.name, f.dtype, t.dtype)
		case !c.anyShape && !f.shape.Accepts(t.dims()):
			return millrace.Errorf(millrace.ErrModel, "%s takes shape %v, got %v", f.name, f.shape, t.dims())
		}
	}
	return nil
}
