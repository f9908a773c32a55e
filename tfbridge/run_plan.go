//go:build cgo

package tfbridge

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
)

// maxPlans is the number of different runs that a session keeps prepared. If there are
// more it forgets all of them.
const maxPlans = 64

// planner keeps the runs that Session.Run has prepared.
type planner struct {
	mu    sync.RWMutex
	plans map[string]*plan
	args  sync.Pool // holds *plannedArgs values between runs
}

// plan is a prepared run, without and with a guard.
type plan struct {
	plain, guarded Callable
	decide         sync.Once // sets guarded and useGuard
	useGuard       bool
}

// plannedArgs are the arguments of a run and the key of its plan.
type plannedArgs struct {
	cRunArgs
	key []byte
}

// RunContext is Run that returns when ctx is done, with an error of class
// millrace.ErrCanceled, which names the queues at which the run may have waited. The
// session stays usable. If the run may wait for another run, or forever, and reads no
// iterator, TensorFlow stops it: see RunOptions.Interrupt. Any other run continues in
// the background, its results are freed, and Close waits for it as long as
// SessionOptions.CloseTimeout says.
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
	defer s.planner.recycle(a)
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

// set sorts the arguments as newCRunArgs does, and makes the key.
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

// recycle clears the arguments and keeps their memory for the next run.
func (p *planner) recycle(a *plannedArgs) {
	clear(a.feeds)
	clear(a.values)
	a.feeds, a.values, a.fetches, a.targets, a.key = a.feeds[:0], a.values[:0], nil, nil, a.key[:0]
	p.args.Put(a)
}

// plan returns the prepared run for the arguments, and prepares it the first
// time. Operations do not change while the graph is open, so a run that was
// checked once stays valid.
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
	c.anyShape = true
	p = &plan{plain: *c}
	s.planner.mu.Lock()
	defer s.planner.mu.Unlock()
	if s.planner.plans == nil || len(s.planner.plans) >= maxPlans {
		s.planner.plans = map[string]*plan{}
	}
	s.planner.plans[string(a.key)] = p
	return p, nil
}

// wantsGuard reports whether runs of the plan get a guard if their context can
// be done.
func (p *plan) wantsGuard(s *Session, fetches []Output, targets []*Operation) bool {
	p.decide.Do(func() {
		gs := s.newGuards(fetches, targets)
		p.useGuard = gs.wanted()
		p.guarded = p.plain
		p.guarded.guards, p.guarded.deadline = gs, true
	})
	return p.useGuard
}
