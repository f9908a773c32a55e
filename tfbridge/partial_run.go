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

// PartialRun is a run made in steps. Each step feeds some outputs and fetches
// those that can be computed by then, so a later feed may depend on an earlier
// fetch. TensorFlow keeps what it computed between the steps. Only one step runs
// at a time; concurrent callers wait. Close frees the PartialRun; the session
// frees tensors that were never fetched.
type PartialRun struct {
	h       *handle[*C.char]
	s       *Session
	in, out []C.TF_Output     // outputs that steps may feed and fetch
	targets []*C.TF_Operation // targets that steps may run
	step    limiter           // admits one step at a time
}

// NewPartialRun prepares a run in steps. The arguments name everything that any
// step may feed, fetch and run; each is used at most once.
//
// It wraps TF_SessionPRunSetup.
func (s *Session) NewPartialRun(feeds, fetches []Output, targets []*Operation) (*PartialRun, error) {
	c, err := s.convert(feeds, fetches, targets)
	if err != nil {
		return nil, err
	}
	if !s.h.hold() {
		return nil, errClosed("session")
	}
	defer s.h.release()
	if err := blocking.acquire(context.Background(), s.closing); err != nil {
		return nil, err
	}
	defer blocking.release()
	defer runtime.KeepAlive(s.g)
	var p *C.char
	err = check("TF_SessionPRunSetup", func(st *C.TF_Status) {
		C.TF_SessionPRunSetup(s.h.p, unsafe.SliceData(c.in), C.int(len(c.in)), unsafe.SliceData(c.out), C.int(len(c.out)),
			unsafe.SliceData(c.targets), C.int(len(c.targets)), &p, st)
	})
	if err != nil {
		return nil, s.wrapRun(err)
	}
	pr := &PartialRun{s: s, in: c.in, out: c.out, targets: c.targets, step: make(limiter, 1)}
	pr.h = own(pr, kindPartialRun, p, func(p *C.char) { C.TF_DeletePRunHandle(p) })
	return pr, nil
}

// Close frees the partial run when the steps in flight have ended.
//
// It wraps TF_DeletePRunHandle.
func (p *PartialRun) Close() error {
	if p == nil {
		return nil
	}
	return p.h.Close()
}

// Run makes one step: it computes fetches and targets with the feeds of this
// step and those before it, and returns the fetches, which the caller closes.
//
// It wraps TF_SessionPRun.
func (p *PartialRun) Run(feeds map[Output]*Tensor, fetches []Output, targets []*Operation) ([]*Tensor, error) {
	return p.RunContext(context.Background(), feeds, fetches, targets)
}

// RunContext is Run that returns when ctx is done, with an error of class
// millrace.ErrCanceled. The step continues in the background and its fetches are lost.
// The next step waits for it.
//
// It wraps TF_SessionPRun.
func (p *PartialRun) RunContext(ctx context.Context, feeds map[Output]*Tensor, fetches []Output, targets []*Operation) ([]*Tensor, error) {
	if p == nil || !p.h.isOpen() {
		return nil, errUnusable("partial run", p)
	}
	if ctx == nil {
		return nil, errNoContext()
	}
	if ctx.Err() != nil {
		return nil, millrace.Canceled(ctx, "")
	}
	args := newCRunArgs(feeds, fetches, targets)
	c, err := p.s.convert(args.feeds, args.fetches, args.targets)
	if err != nil {
		return nil, err
	}
	c.anyShape = true
	if err := p.check(c); err != nil {
		return nil, err
	}
	if err := c.checkValues(args.values); err != nil {
		return nil, err
	}
	r, err := c.begin(args.values)
	if err != nil {
		return nil, err
	}
	if err := p.enter(ctx); err != nil {
		r.end()
		return nil, err
	}
	if ctx.Done() == nil {
		return p.run(r)
	}
	return runAsync(ctx, r, p.run, nil)
}

// check refuses feeds, fetches and targets that were not passed to NewPartialRun.
func (p *PartialRun) check(c *Callable) error {
	for i, o := range c.in {
		if !slices.Contains(p.in, o) {
			return millrace.Errorf(millrace.ErrModel, "%s is not among the feeds of the partial run", c.feeds[i].name)
		}
	}
	for _, o := range c.out {
		if !slices.Contains(p.out, o) {
			return millrace.Errorf(millrace.ErrModel, "%v is not among the fetches of the partial run", p.s.g.output(o))
		}
	}
	for _, op := range c.targets {
		if !slices.Contains(p.targets, op) {
			return millrace.Errorf(millrace.ErrModel, "%q is not among the targets of the partial run", p.s.g.operation(op).Name())
		}
	}
	return nil
}

// enter waits for the previous step and for a slot, and takes a reference.
func (p *PartialRun) enter(ctx context.Context) error {
	if err := p.step.acquire(ctx, p.s.closing); err != nil {
		return err
	}
	if err := blocking.acquire(ctx, p.s.closing); err != nil {
		p.step.release()
		return err
	}
	if !p.h.hold() {
		blocking.release()
		p.step.release()
		return errUnusable("partial run", p)
	}
	return nil
}

// run makes a step after enter, and then releases the slot and the reference.
func (p *PartialRun) run(r *run) ([]*Tensor, error) {
	defer r.end()
	defer p.step.release()
	defer blocking.release()
	defer p.h.release()
	c, n := r.c, len(r.values)
	defer runtime.KeepAlive(c)
	err := check("TF_SessionPRun", func(st *C.TF_Status) {
		C.TF_SessionPRun(c.s.h.p, p.h.p,
			unsafe.SliceData(c.in), unsafe.SliceData(r.ptrs), C.int(n),
			unsafe.SliceData(c.out), unsafe.SliceData(r.ptrs[n:]), C.int(len(c.out)),
			unsafe.SliceData(c.targets), C.int(len(c.targets)), st)
	})
	if err != nil {
		return nil, c.s.wrapRun(err)
	}
	out := make([]*Tensor, len(c.out))
	for i, t := range r.ptrs[n:] {
		out[i] = adoptTensor(t)
	}
	return out, nil
}
