package tfbridge

// #include "capi.h"
import "C"

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// TensorFlow's C API cannot cancel a run, only a whole session; but a run in
// which an operation fails is cancelled by TensorFlow itself. So a run that is
// to be interrupted gets a guard: an operation that waits for an element of a
// queue and fails if the element is true. The run itself puts false there once
// it has computed everything else; whoever interrupts it puts true there, in
// another run. Guards are used again and again: one run at a time each.

// guardPrefix begins the names of the operations of guards.
const guardPrefix = "millrace_guard"

// guard is one of them, without what makes it part of a run.
type guard struct {
	queue Output
	no    Output // the constant false
	fails *Operation
	abort *Callable // puts true into the queue
	size  *Callable // counts what is in the queue
	drain *Callable // takes that many out of it
}

// guardRoom is how many elements a guard's queue holds: what the run puts
// there and what its interrupter does.
const guardRoom = 2

// guardPool makes the guards of a session, and keeps those that no run uses.
type guardPool struct {
	mu   sync.Mutex
	free []*guard
	ends map[string]*guards // by what they guard
}

// take returns a guard that no other run uses.
func (s *Session) takeGuard() (*guard, error) {
	p := &s.guards
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		g := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return g, nil
	}
	p.mu.Unlock()
	return s.newGuard()
}

// giveGuard gives a guard back whose queue is empty.
func (s *Session) giveGuard(g *guard) {
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	s.guards.free = append(s.guards.free, g)
}

// guardBuilder adds a guard's operations to a graph. The first failure sticks.
type guardBuilder struct {
	g    *Graph
	name string
	err  error
}

// op adds an operation.
func (b *guardBuilder) op(typ, name string, attrs map[string]any, in ...Input) *Operation {
	if b.err != nil {
		return nil
	}
	op, err := b.g.AddOperation(OpSpec{Type: typ, Name: b.name + "/" + name, Attrs: attrs, Input: in})
	b.err = err
	return op
}

// out adds an operation and returns its first output.
func (b *guardBuilder) out(typ, name string, attrs map[string]any, in ...Input) Output {
	if op := b.op(typ, name, attrs, in...); op != nil {
		return op.Output(0)
	}
	return Output{}
}

// constant adds a constant.
func (b *guardBuilder) constant(name string, value any) Output {
	if b.err != nil {
		return Output{}
	}
	t, err := NewTensor(value)
	if err != nil {
		b.err = err
		return Output{}
	}
	defer t.Close()
	return b.out("Const", name, map[string]any{"dtype": t.DataType(), "value": t})
}

// guardName returns a name for operations of guards that the graph does not
// have yet; it may have been imported with some.
func (g *Graph) guardName() string {
	for {
		name := fmt.Sprintf("%s_%d", guardPrefix, g.guards.Add(1))
		if g.Operation(name+"/no") == nil && g.Operation(name+"/done") == nil {
			return name
		}
	}
}

// newGuard adds a guard to the session's graph.
func (s *Session) newGuard() (*guard, error) {
	b := &guardBuilder{g: s.g, name: s.g.guardName()}
	bools := map[string]any{"component_types": []DataType{Bool}}
	g := &guard{no: b.constant("no", false)}
	g.queue = b.out("FIFOQueueV2", "queue", map[string]any{
		"component_types": []DataType{Bool}, "shapes": []Shape{ScalarShape()}, "capacity": int64(guardRoom), "shared_name": b.name,
	})
	got := b.out("QueueDequeueV2", "wait", bools, g.queue)
	goon := b.out("LogicalNot", "go_on", nil, got)
	g.fails = b.op("Assert", "fail", nil, goon, OutputList{b.constant("why", "the run was interrupted")})
	yes := b.op("QueueEnqueueV2", "abort", nil, g.queue, OutputList{b.constant("yes", true)})
	size := b.out("QueueSizeV2", "size", nil, g.queue)
	count := b.out("Placeholder", "count", map[string]any{"dtype": Int32, "shape": ScalarShape()})
	drained := b.op("QueueDequeueManyV2", "drain", bools, g.queue, count)
	if b.err != nil {
		return nil, b.err
	}
	inline := &RunOptions{Inline: true}
	var errs [3]error
	g.abort, errs[0] = s.PrepareRun(nil, nil, []*Operation{yes}, inline)
	g.size, errs[1] = s.PrepareRun(nil, []Output{size}, nil, inline)
	g.drain, errs[2] = s.PrepareRun([]Output{count}, nil, []*Operation{drained}, inline)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// now runs a Callable for one result at most, without waiting for a place: all
// of them may be taken by runs that wait to be interrupted.
func (c *Callable) now(values []*Tensor) (out []*Tensor, err error) {
	r, err := c.begin(values)
	if err != nil {
		return nil, err
	}
	out = make([]*Tensor, len(c.out))
	return out, r.into(out, nil)
}

// empty takes out of the queue what a run left there.
func (g *guard) empty() error {
	out, err := g.size.now(nil)
	if err != nil {
		return err
	}
	defer out[0].Close()
	if out[0].Value() == int32(0) {
		return nil
	}
	_, err = g.drain.now(out)
	return err
}

// guards makes runs that compute the same ones that can be interrupted.
type guards struct {
	s    *Session
	ends []*Operation // what a run computes

	mu   sync.Mutex
	done map[*guard]*Operation // lets the guard go when a run has computed it

	look  sync.Once
	apply bool // whether runs are guarded of which nobody said so
}

// newGuards returns the guards for runs of fetches and targets, the same ones
// for the same operations.
func (s *Session) newGuards(fetches []Output, targets []*Operation) *guards {
	ends := slices.Clone(targets)
	for _, o := range fetches {
		ends = append(ends, o.Op)
	}
	order := func(a, b *Operation) int {
		return cmp.Compare(uintptr(unsafe.Pointer(a.c)), uintptr(unsafe.Pointer(b.c)))
	}
	slices.SortFunc(ends, order)
	ends = slices.CompactFunc(ends, func(a, b *Operation) bool { return a.c == b.c })
	var key []byte
	for _, op := range ends {
		key = binary.NativeEndian.AppendUint64(key, uint64(uintptr(unsafe.Pointer(op.c))))
	}
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	if gs := s.guards.ends[string(key)]; gs != nil {
		return gs
	}
	if s.guards.ends == nil {
		s.guards.ends = map[string]*guards{}
	}
	gs := &guards{s: s, ends: ends, done: map[*guard]*Operation{}}
	s.guards.ends[string(key)] = gs
	return gs
}

// guarded is a Callable with a guard in it, for one run.
type guarded struct {
	g    *guard
	call Callable
}

// with returns c with a guard in it.
func (gs *guards) with(c *Callable) (*guarded, error) {
	g, err := gs.s.takeGuard()
	if err != nil {
		return nil, err
	}
	done, err := gs.lets(g)
	if err != nil {
		gs.s.giveGuard(g)
		return nil, err
	}
	made := &guarded{g: g, call: *c}
	made.call.guards = nil
	made.call.targets = append(slices.Clone(c.targets), g.fails.c, done.c)
	return made, nil
}

// lets returns the operation that lets a guard go, which is made when it is
// first used.
func (gs *guards) lets(g *guard) (*Operation, error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if done := gs.done[g]; done != nil {
		return done, nil
	}
	done, err := gs.s.g.AddOperation(OpSpec{
		Type: "QueueEnqueueV2", Name: gs.s.g.guardName() + "/done",
		Input: []Input{g.queue, OutputList{g.no}}, ControlDependencies: gs.ends,
	})
	if err == nil {
		gs.done[g] = done
	}
	return done, err
}

// interrupt makes the run fail, if it is under way.
func (g *guarded) interrupt() {
	if g != nil {
		g.g.abort.now(nil) // fails when the session is closed, which ends the run too
	}
}

// back gives the guard back when the run is over. One that was interrupted or
// failed has left something in the queue.
func (g *guarded) back(used bool) {
	if g == nil {
		return
	}
	if used && g.g.empty() != nil {
		return // the session is closed, or the guard is of no more use
	}
	g.call.s.giveGuard(g.g)
}
