package tfbridge

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
)

// maxPlans is how many different runs a session keeps prepared. When there are
// more it starts anew.
const maxPlans = 64

// planner keeps what Session.Run has prepared.
type planner struct {
	mu    sync.RWMutex
	plans map[string]*plan
	args  sync.Pool // of *plannedArgs, between runs
}

// plan is a run that was prepared, without and with a guard.
type plan struct {
	plain, guarded Callable
	look           sync.Once // decides on guarded
	guard          bool      // use it
}

// plannedArgs are the arguments of a run and the key of its plan.
type plannedArgs struct {
	cRunArgs
	key []byte
}

// RunContext is Run that stops waiting when ctx ends, with an error of class
// millrace.ErrCanceled; the session stays usable. A run that may wait for
// another one or for ever, and reads no iterator, is stopped in TensorFlow
// too: see RunOptions.Interrupt. Any other goes on by itself, its results are
// freed, and Close waits for it.
//
// It wraps TF_SessionRun.
func (s *Session) RunContext(ctx context.Context, feeds map[Output]*Tensor, fetches []Output, targets []*Operation) ([]*Tensor, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, errNoContext()
	}
	a, _ := s.planner.args.Get().(*plannedArgs)
	if a == nil {
		a = new(plannedArgs)
	}
	defer s.planner.give(a)
	a.set(feeds, fetches, targets)
	p, err := s.plan(a)
	if err != nil {
		return nil, err
	}
	c := &p.plain
	if ctx.Done() != nil && p.wantsGuard(s, fetches, targets) {
		c = &p.guarded
	}
	out, err := c.Run(ctx, a.values)
	if err != nil {
		return nil, c.explain(err, a.values)
	}
	return out, nil
}

// set puts the arguments in order, as newCRunArgs does, and makes the key.
func (a *plannedArgs) set(feeds map[Output]*Tensor, fetches []Output, targets []*Operation) {
	a.fetches, a.targets = fetches, targets
	for o := range feeds {
		a.feeds = append(a.feeds, o)
	}
	slices.SortFunc(a.feeds, compareOutputs)
	a.key = binary.NativeEndian.AppendUint32(a.key, uint32(len(a.feeds)))
	for _, o := range a.feeds {
		a.values = append(a.values, feeds[o])
		a.addOutput(o)
	}
	a.key = binary.NativeEndian.AppendUint32(a.key, uint32(len(fetches)))
	for _, o := range fetches {
		a.addOutput(o)
	}
	for _, op := range targets {
		a.addOperation(op)
	}
}

// addOutput adds an output to the key.
func (a *plannedArgs) addOutput(o Output) {
	a.addOperation(o.Op)
	a.key = binary.NativeEndian.AppendUint64(a.key, uint64(o.Index))
}

// addOperation adds an operation to the key.
func (a *plannedArgs) addOperation(op *Operation) {
	a.key = binary.NativeEndian.AppendUint64(a.key, uint64(op.address()))
}

// give keeps arguments for the next run, without what they refer to.
func (p *planner) give(a *plannedArgs) {
	clear(a.feeds)
	clear(a.values)
	a.feeds, a.values, a.fetches, a.targets, a.key = a.feeds[:0], a.values[:0], nil, nil, a.key[:0]
	p.args.Put(a)
}

// plan returns what was prepared for a run, and prepares it the first time.
// Operations stay what they are for as long as the graph is open, which is
// checked, so a run that was checked once is right for good.
func (s *Session) plan(a *plannedArgs) (*plan, error) {
	if err := s.g.check(); err != nil {
		return nil, err
	}
	s.planner.mu.RLock()
	p := s.planner.plans[string(a.key)]
	s.planner.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	c, err := s.Prepare(a.feeds, a.fetches, a.targets)
	if err != nil {
		return nil, err
	}
	c.loose = true
	p = &plan{plain: *c}
	s.planner.mu.Lock()
	defer s.planner.mu.Unlock()
	if s.planner.plans == nil || len(s.planner.plans) >= maxPlans {
		s.planner.plans = map[string]*plan{}
	}
	s.planner.plans[string(a.key)] = p
	return p, nil
}

// wantsGuard reports whether runs of the plan whose context may end get a
// guard.
func (p *plan) wantsGuard(s *Session, fetches []Output, targets []*Operation) bool {
	p.look.Do(func() {
		gs := s.newGuards(fetches, targets)
		p.guard = gs.wanted()
		p.guarded = p.plain
		p.guarded.guards = gs
	})
	return p.guard
}
