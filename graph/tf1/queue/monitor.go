package queue

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// # Waiting at a staging area
//
// The question. Unstage waits in TensorFlow's kernel until another run has staged
// something. Nothing can interrupt it: neither a context nor the end of the session.
// It also holds one of the few threads of TensorFlow, so that on two processors two
// such runs keep every other run from starting, also the one that would stage
// something. Stage is the same at a full area, and so are the peeks, and the
// operations of a staging map.
//
// The answer. No run enters such a kernel before it is certain not to wait there. Runs
// wait at a queue instead, which takes no thread and can be interrupted. This is the
// monitor of operating systems, made of three queues:
//
//	gate      has room for one element: the run that enqueues it is alone
//	waiting   an element for each run that waits
//	arrivals  an element wakes one of them
//
// One operation on an area, step by step:
//
//	1. enqueue to gate                         alone from here on
//	2. is the condition true?                  "the size is larger than 0"
//	      no: enqueue to waiting
//	          dequeue from gate                others may continue
//	          dequeue from arrivals            waits; can be interrupted
//	          go to 1
//	3. Unstage, or another operation           certain not to wait
//	4. enqueue to arrivals as many elements as waiting has, and dequeue these
//	5. dequeue from gate
//
// Steps 1 and 2 are a loop of the graph. A step that depends on the condition enqueues
// or dequeues a number of elements, 1 or 0, so that there are no branches. A woken run
// checks the condition again, so an extra element in arrivals does no harm.
//
// What was tried. TensorFlow's own MutexLock in place of the gate releases itself when
// a run fails, but a run that is interrupted while it waits for the lock marks it as
// free while another one holds it. Queues that count elements and free places, without
// a gate, cannot wait for a key, or for the element of an index.
//
// What it cannot do. A run that is interrupted between steps 1 and 5 does not open the
// gate. So a program that interrupts a run must clear the area before it continues.

// monitor is a lock on which runs wait for conditions.
type monitor struct {
	gate, waiting, arrivals *Queue
}

// newMonitor adds a monitor. Monitors of one session with the same name are the same.
func newMonitor(s *graph.Scope, name string) *monitor {
	s = onHost(s)
	token := []graph.Spec{{DType: tfbridge.Bool, Shape: tfbridge.ScalarShape()}}
	add := func(part string, capacity int) *Queue {
		return NewFIFO(s, capacity, token, &Options{Name: part, SharedName: name + "/" + part})
	}
	return &monitor{gate: add("gate", 1), waiting: add("waiting", Unbounded), arrivals: add("arrivals", Unbounded)}
}

// onHost returns a scope for the operations of a monitor. Only a CPU has all of
// them.
func onHost(s *graph.Scope) *graph.Scope { return s.WithDevice("/cpu:0") }

// enter adds a wait until cond, a scalar bool, is true, and returns a scope whose
// operations run alone from then on, until [monitor.leave].
func (m *monitor) enter(s *graph.Scope, cond func(s *graph.Scope) tfbridge.Output) *graph.Scope {
	host := onHost(s)
	not := func(s *graph.Scope, vars []tfbridge.Output) tfbridge.Output { return graph.LogicalNot(s, vars[0]) }
	wait := func(s *graph.Scope, _ []tfbridge.Output) []tfbridge.Output {
		woken := m.arrivals.Dequeue(s)
		if s.Err() != nil {
			return nil
		}
		return []tfbridge.Output{m.attempt(s.WithControlDependencies(woken[0].Op), cond)}
	}
	alone := graph.While(host, []tfbridge.Output{m.attempt(host, cond)}, not, wait, nil)
	if s.Err() != nil {
		return s
	}
	return s.WithControlDependencies(alone[0].Op)
}

// attempt adds steps 1 and 2: it returns whether the condition is true. If it is, the
// gate stays closed. Otherwise the run has joined the waiting runs.
func (m *monitor) attempt(s *graph.Scope, cond func(s *graph.Scope) tfbridge.Output) tfbridge.Output {
	s = s.WithControlDependencies(m.gate.Enqueue(s, s.Const(true)))
	ok := cond(s)
	missed := graph.Cast(s, graph.LogicalNot(s, ok), tfbridge.Int32)
	register := m.waiting.EnqueueMany(s, m.tokens(s, missed))
	open := m.gate.DequeueMany(s.WithControlDependencies(register), missed)
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	held := graph.Identity(s.WithControlDependencies(open[0].Op), ok)
	if s.Err() == nil {
		s.UpdateErr("monitor", s.Graph().SetShape(held, tfbridge.ScalarShape())) // the shape of a table lookup is unknown
	}
	return held
}

// tokens returns n elements for a queue of the monitor.
func (m *monitor) tokens(s *graph.Scope, n tfbridge.Output) tfbridge.Output {
	tokens := graph.Fill(s, graph.Reshape(s, n, s.Const([]int32{1})), s.Const(true))
	if s.Err() == nil {
		s.UpdateErr("monitor", s.Graph().SetShape(tokens, tfbridge.MakeShape(-1)))
	}
	return tokens
}

// leave adds steps 4 and 5, which run after ops.
func (m *monitor) leave(s *graph.Scope, ops ...*tfbridge.Operation) *tfbridge.Operation {
	woken := m.wake(s.WithControlDependencies(ops...))
	open := m.gate.Dequeue(onHost(s).WithControlDependencies(woken))
	if s.Err() != nil {
		return nil
	}
	return open[0].Op
}

// wake adds step 4.
func (m *monitor) wake(s *graph.Scope) *tfbridge.Operation {
	s = onHost(s)
	n := m.waiting.Size(s)
	wake := m.arrivals.EnqueueMany(s, m.tokens(s, n))
	woken := m.waiting.DequeueMany(s.WithControlDependencies(wake), n)
	if s.Err() != nil {
		return nil
	}
	return woken[0].Op
}

// reset adds an operation that opens the gate, whoever closed it, and wakes all
// runs that wait. It runs after ops.
func (m *monitor) reset(s *graph.Scope, ops ...*tfbridge.Operation) *tfbridge.Operation {
	woken := m.wake(s.WithControlDependencies(ops...))
	host := onHost(s).WithControlDependencies(woken)
	open := m.gate.DequeueMany(host, m.gate.Size(host))
	if s.Err() != nil {
		return nil
	}
	return open[0].Op
}
