package tfbridge

// #include "capi.h"
import "C"

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// # Cancelling one run
//
// The question. A caller runs a graph with a context. When the context is done, the run
// must stop inside TensorFlow: a run that waits at a queue would otherwise hold a
// thread forever. The session and its other runs must continue.
//
// What does not work:
//
//   - TF_CloseSession cancels every run of the session, which is unusable
//     afterwards. The C API has no call that cancels a single run.
//   - RunOptions.timeout_in_ms cancels a single run, but it must be known
//     before the run begins. A context may be cancelled at any time.
//   - Returning to the caller and leaving the run alone frees nothing: the
//     run keeps its thread, and Close waits for it.
//
// What works: when one operation of a run fails, TensorFlow cancels all the others of
// that run, and of no other. So a run that must be interruptible gets an operation that
// fails on demand. We call it a guard. It takes a number from its own accumulator, and
// fails if that is not 0:
//
//	 run                          interrupting goroutine
//	 ---                          ----------------------
//	 fetches and targets
//	    | data and control edges
//	    v
//	 apply 0 ----------+       +---- apply 1  (another run)
//	                   v       v
//	              [ accumulator ]
//	                       |
//	                       v
//	                     take --> Assert(mean <= 0)
//
// Step by step:
//
//  1. The run takes a free guard of the session, or adds one to the graph, and
//     runs two more targets: "Assert", and an operation that applies 0
//     once every fetch and target of the run is computed.
//  2. The run ends by itself: 0 arrives, Assert passes, the accumulator is empty
//     again, and the guard is free for another run.
//  3. Or the context is done: the caller runs "abort", which applies 1.
//     Assert fails, and TensorFlow cancels the rest of the run.
//  4. A run that failed may leave numbers in the accumulator. They are taken
//     before the guard is used again. Applying a number never waits.
//
// Why not a queue: a run that enqueues to and dequeues from the same queue can hang
// forever. An error cancels the dequeue, the thread that cancels it continues with the
// enqueue, and then waits for the end of the cancellation, that is for itself
// (QueueBase::FlushUnlocked and CancellationManager::DeregisterCallback). With queues
// one of 15 runs of serving/rest.TestServerSurvivesHostileTensors hung on a busy
// machine. An accumulator only registers operations that take from it, so its thread
// has nothing to continue with.
//
// The guard's "take" must begin, or the 1 is never taken: a loop keeps its thread until
// the run is cancelled. In the calling thread TensorFlow may begin either first. So a
// run that may loop computes in TensorFlow's pool, even if it requested the calling
// thread, and a machine with one processor gets a pool of two threads
// (session_options.go). If as many loops run as the pool has threads, none of their
// guards can begin. Two things help:
//
//   - SessionOptions.LoopPool gives such runs a pool with more threads than there
//     are runs at a time. Models that may loop have it.
//   - The deadline of the run's context goes into RunOptions.timeout_in_ms (run.go).
//     The caller's thread waits there, and needs no thread of the pool. In the
//     calling thread, which computes, no thread waits, and the timeout has no effect.
//
// Without either, a loop ends when Close ends it.
//
// "abort" and the removal run in the calling thread and acquire no slot of the
// limiter: all slots may be taken by runs that wait to be interrupted.
//
// The caller waits for the end of the run that it interrupted (run.go): a "take" that
// still waits would take the next number, which would be lost.
//
// Limits: a kernel that computes is not stopped, only waited for, and Unstage ignores
// every cancellation (session_close.go says what Close does). A run that reads an
// iterator must not be interrupted at all, because that spoils the iterator for good
// (guard_auto.go decides this by default). TensorFlow's queues confuse two runs of a
// thread whose stack addresses are the same; capi_run.c keeps them apart.
//
// A guard may also replace an error. An operation that fails in a function that
// TensorFlow calls, such as a branch of an If that is not lowered, cancels the run
// before its error reaches the caller of the function. Occasionally the guard's "take",
// which is cancelled with the rest, is the first to end: then the run fails with its
// code, Cancelled, and TensorFlow keeps no other error (1 of 20 runs of such an If on a
// busy machine). A run without a guard always has the first error.
//
// A custom asynchronous operation in the native library could end without an error when
// it is cancelled, and would hold no thread. It would not help with the loops above: it
// must begin before they do, so they would need control edges from it, and the C API
// cannot add these to existing operations.

// guard is an operation that makes a run fail on demand. One run uses it at a
// time.
type guard struct {
	accumulator Output
	goOn        Output     // the constant 0
	latest      Output     // a step that the accumulator never considers late
	always      Output     // the constant true
	assert      *Operation // takes the mean of the applied numbers and fails if it is more than 0
	abort       *Callable  // applies 1
	size        *Callable  // counts the applied numbers
	drain       *Callable  // takes the applied numbers
}

// guardPool holds the guards of a session.
type guardPool struct {
	mu   sync.Mutex
	free []*guard
	sets map[string]*guards // keyed by the operations that the runs compute
}

// takeGuard returns a guard that no other run uses.
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

// returnGuard makes a guard available to other runs. Its accumulator must be empty.
func (s *Session) returnGuard(g *guard) {
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	s.guards.free = append(s.guards.free, g)
}

// runUnlimited makes a run of at most one fetch without acquiring a slot: all
// slots may be taken by runs that wait to be interrupted.
func (c *Callable) runUnlimited(values []*Tensor) (out []*Tensor, err error) {
	r, err := c.begin(values)
	if err != nil {
		return nil, err
	}
	out = make([]*Tensor, len(c.out))
	return out, r.execute(out, nil)
}

// empty removes the numbers that a failed run left in the accumulator.
func (g *guard) empty() error {
	out, err := g.size.runUnlimited(nil)
	if err != nil {
		return err
	}
	defer out[0].Close()
	if out[0].Value() == int32(0) {
		return nil
	}
	_, err = g.drain.runUnlimited(nil)
	return err
}

// guards makes runs interruptible. All runs it serves compute the same fetches
// and targets.
type guards struct {
	s       *Session
	fetches []Output
	targets []*Operation

	mu       sync.Mutex
	computed *Operation            // runs when the fetches are computed; nil if there are none
	signals  map[*guard]*Operation // applies 0 when fetches and targets are computed

	decide    sync.Once
	automatic bool // see wanted

	find    sync.Once
	hazards hazards // see findHazards
}

// newGuards returns the guards for runs of fetches and targets. For the same operations
// it returns the same guards.
func (s *Session) newGuards(fetches []Output, targets []*Operation) *guards {
	fetches, targets = slices.Clone(fetches), slices.Clone(targets)
	slices.SortFunc(fetches, compareOutputs)
	slices.SortFunc(targets, func(a, b *Operation) int { return cmp.Compare(a.address(), b.address()) })
	fetches, targets = slices.Compact(fetches), slices.Compact(targets)
	var key []byte
	for _, o := range fetches {
		key = binary.NativeEndian.AppendUint64(key, uint64(o.Op.address()))
		key = binary.NativeEndian.AppendUint64(key, uint64(o.Index)+1) // 0 marks the end of the fetches
	}
	key = binary.NativeEndian.AppendUint64(key, 0)
	for _, op := range targets {
		key = binary.NativeEndian.AppendUint64(key, uint64(op.address()))
	}
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	if gs := s.guards.sets[string(key)]; gs != nil {
		return gs
	}
	if s.guards.sets == nil {
		s.guards.sets = map[string]*guards{}
	}
	gs := &guards{s: s, fetches: fetches, targets: targets, signals: map[*guard]*Operation{}}
	s.guards.sets[string(key)] = gs
	return gs
}

// guarded is a Callable with a guard among its targets, for one run.
type guarded struct {
	g    *guard
	all  *guards // guards of runs with the same operations
	call Callable
}

// guard returns a copy of c that a guard can interrupt.
func (gs *guards) guard(c *Callable) (*guarded, error) {
	g, err := gs.s.takeGuard()
	if err != nil {
		return nil, err
	}
	done, err := gs.doneOp(g)
	if err != nil {
		gs.s.returnGuard(g)
		return nil, err
	}
	out := &guarded{g: g, all: gs, call: *c}
	out.call.guards = nil
	out.call.targets = append(slices.Clone(c.targets), g.assert.c, done.c)
	if gs.findHazards().loops {
		out.call.options = gs.s.loopOptions(c)
	}
	return out, nil
}

// loopOptions returns the options of c for a run that may compute a loop.
func (s *Session) loopOptions(c *Callable) []byte {
	options := c.options
	if c.inline {
		options = c.pooled
	}
	if s.loopPool {
		options = appendVarint(slices.Clone(options), runInterOpPool, loopPoolIndex)
	}
	return options
}

// doneOp returns the operation that applies 0 when the run has computed
// everything else. It adds the operation to the graph at first use.
func (gs *guards) doneOp(g *guard) (*Operation, error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if op := gs.signals[g]; op != nil {
		return op, nil
	}
	ends, err := gs.ends(g)
	if err != nil {
		return nil, err
	}
	op, err := gs.s.g.AddOperation(OpSpec{
		Type: "ResourceAccumulatorApplyGradient", Name: gs.s.g.guardName() + "/done",
		Input: []Input{g.accumulator, g.latest, g.goOn}, ControlDependencies: ends,
	})
	if err == nil {
		gs.signals[g] = op
	}
	return op, err
}

// ends returns the operations after which the run has computed everything. A control
// edge from a fetch's operation is not enough: if it calls a function, which TensorFlow
// inlines, the edge waits only for the operations of the function that have side
// effects. So an Assert that always passes takes the fetches as its data.
//
// Runs that may read a dataset still use control edges. A record that fails cancels the
// run before its error reaches the caller of the function, and a guard that still waits
// would replace the error. Their deadline ends such runs if they loop.
func (gs *guards) ends(g *guard) ([]*Operation, error) {
	if gs.findHazards().datasets {
		ends := slices.Clone(gs.targets)
		for _, o := range gs.fetches {
			ends = append(ends, o.Op)
		}
		return ends, nil
	}
	if gs.computed == nil && len(gs.fetches) > 0 {
		op, err := gs.s.g.AddOperation(OpSpec{
			Type: "Assert", Name: gs.s.g.guardName() + "/computed", Input: []Input{g.always, OutputList(gs.fetches)},
		})
		if err != nil {
			return nil, err
		}
		gs.computed = op
	}
	if gs.computed == nil {
		return gs.targets, nil
	}
	return append(slices.Clone(gs.targets), gs.computed), nil
}

// interrupt makes the run fail if it is still in flight.
func (g *guarded) interrupt() {
	if g != nil {
		g.g.abort.runUnlimited(nil) // fails if the session is closed, which ends the run too
	}
}

// describe reports where the run may be waiting; see guards.describe.
func (g *guarded) describe() string {
	if g == nil {
		return ""
	}
	return g.all.describe()
}

// release returns the guard to the session when the run has ended. The caller
// says whether the run may have left numbers in the accumulator, which it does when
// it was interrupted or failed.
func (g *guarded) release(mayHaveNumbers bool) {
	if g == nil {
		return
	}
	if mayHaveNumbers && g.g.empty() != nil {
		return // the session is closed, or the guard is broken: drop it
	}
	g.call.s.returnGuard(g.g)
}
