package train

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// # A stage of a pipeline, and how it ends
//
// A QueueRunner fills one queue. A separate goroutine runs each of its enqueue
// operations repeatedly:
//
//	goroutine 1: enqueue, enqueue, enqueue, ... --+
//	goroutine 2: enqueue, enqueue, ...          --+--> [ queue ] --> dequeue
//	goroutine 3: enqueue, enqueue, enqueue, ... --+
//
// A stage ends in one of three ways:
//
//  1. The data ends. An enqueue operation fails with code OutOfRange, because the
//     queue that it reads from is closed and empty. Its goroutine ends, and the
//     others continue: each may still hold the rest of a file. The last one closes the
//     queue, which passes the end to the next stage when the queue is empty.
//  2. An enqueue operation fails otherwise. That error stops the coordinator.
//  3. The coordinator stops, for whatever reason. The goroutines may wait in
//     TensorFlow for room in the queue, where no context reaches them. So the runner
//     closes its queue and cancels the pending enqueues. As every runner does that,
//     a wait for elements of the stage before ends too.
//
// # Forgetting to start it
//
// In Python a dequeue from a queue whose runner was not started waits forever. Here it
// fails. [QueueRunner.Queue] is the same queue after an Assert, whose condition is that
// a variable of the session is initialized. Start initializes the variable.
//
//	VarIsInitializedOp(started) -> Assert ......> Identity(queue) -> dequeue, read
//
// The alternatives were a type of session that always starts the runners, which does
// not help programs with another session, and a deadline, which cannot distinguish a
// slow disk from a missing runner.

// QueueRunner fills a queue of a graph: goroutines run its enqueue operations.
// [NewQueueRunner] makes one. Its methods may be called concurrently.
type QueueRunner struct {
	name       string
	queue      *queue.Queue // nil for a runner of a MetaGraphDef
	enqueueOps []*tfbridge.Operation
	closeOp    *tfbridge.Operation
	cancelOp   *tfbridge.Operation
	started    *tfbridge.Operation // marks the runner as started; nil for a runner of a MetaGraphDef
	closed     []tfbridge.Code
	pool       bool // runs use TensorFlow's inter-op threads

	mu      sync.Mutex
	running map[*tfbridge.Session]bool
}

// QueueRunnerOptions are the options of a QueueRunner. Nil and the zero value mean
// the defaults.
type QueueRunnerOptions struct {
	CloseOp  *tfbridge.Operation // closes the queue at the end of the data; nil: one is added
	CancelOp *tfbridge.Operation // closes the queue and cancels pending enqueues, at a stop; nil: one is added
	// QueueClosedCodes are the codes of an enqueue operation that mean the end of the
	// data. Nil means OutOfRange.
	QueueClosedCodes []tfbridge.Code
	// InterOpPool runs the operations of an enqueue in TensorFlow's inter-op threads,
	// several at a time. Default: one after the other in a single thread, which saves
	// most of the time of a small run, unless several goroutines share one of
	// TensorFlow's readers. Set it if operations of one enqueue wait for each other,
	// such as a stage and an unstage.
	InterOpPool bool
}

// queueRunners is the key of the collection, as in TensorFlow.
const queueRunners = "queue_runners"

// NewQueueRunner returns a runner that runs each of the operations in a separate
// goroutine. An operation may occur several times. All are expected to enqueue to q.
// Pass the runner to [AddQueueRunner], or start it yourself. Consumers dequeue from
// [QueueRunner.Queue].
func NewQueueRunner(s *graph.Scope, q *queue.Queue, enqueueOps []*tfbridge.Operation, o *QueueRunnerOptions) *QueueRunner {
	if o == nil {
		o = &QueueRunnerOptions{}
	}
	r := &QueueRunner{
		enqueueOps: slices.Clone(enqueueOps), closeOp: o.CloseOp, cancelOp: o.CancelOp, closed: slices.Clone(o.QueueClosedCodes),
		running: map[*tfbridge.Session]bool{}, pool: o.InterOpPool,
	}
	s.UpdateErr("QueueRunner", checkRunner(q, enqueueOps))
	if r.queue = q; q == nil {
		r.queue = queue.NewFIFO(s, 1, nil, nil) // adds nothing to a scope that failed
	}
	if s.Err() != nil {
		return r
	}
	r.pool = r.pool || repeated(enqueueOps) && readInThread(enqueueOps)
	r.name = q.Name()
	if len(r.closed) == 0 {
		r.closed = []tfbridge.Code{tfbridge.OutOfRange}
	}
	s = s.SubScope(path.Base(r.name) + "_runner")
	if r.closeOp == nil {
		r.closeOp = q.Close(s, false)
	}
	if r.cancelOp == nil {
		r.cancelOp = q.Close(s, true)
	}
	r.queue = q.WithHandle(r.guard(s, q.Handle()))
	return r
}

// repeated reports whether an operation occurs several times. Then several goroutines
// run the same kernels.
func repeated(ops []*tfbridge.Operation) bool {
	seen := map[*tfbridge.Operation]bool{}
	for _, op := range ops {
		seen[op] = true
	}
	return len(seen) < len(ops)
}

// threadReads are the operations that read in a thread of their kernel. The operations
// after one of them in a run continue in that thread. So without the pool all
// goroutines that run the same kernel would compute in that one thread.
var threadReads = []string{"ReaderRead", "ReaderReadV2", "ReaderReadUpTo", "ReaderReadUpToV2"}

// readInThread reports whether the operations depend on one of threadReads.
func readInThread(ops []*tfbridge.Operation) bool {
	seen := map[*tfbridge.Operation]bool{}
	var visit func(op *tfbridge.Operation) bool
	visit = func(op *tfbridge.Operation) bool {
		if seen[op] {
			return false
		}
		seen[op] = true
		return slices.Contains(threadReads, op.Type()) || slices.ContainsFunc(op.Inputs(), func(in tfbridge.Output) bool { return visit(in.Op) })
	}
	return slices.ContainsFunc(ops, visit)
}

// checkRunner returns an error if the arguments of a runner are invalid.
func checkRunner(q *queue.Queue, enqueueOps []*tfbridge.Operation) error {
	if q == nil {
		return millrace.Errorf(millrace.ErrModel, "the queue is nil")
	}
	if len(enqueueOps) == 0 {
		return millrace.Errorf(millrace.ErrModel, "%v: there are no enqueue operations", q)
	}
	if slices.Contains(enqueueOps, nil) {
		return millrace.Errorf(millrace.ErrModel, "%v: enqueue operation %d is nil", q, slices.Index(enqueueOps, nil))
	}
	return nil
}

// guard returns a handle of the queue that fails until the runner is started.
func (r *QueueRunner) guard(s *graph.Scope, handle tfbridge.Output) tfbridge.Output {
	started := s.Op1("VarHandleOp", map[string]any{
		"dtype": tfbridge.Bool, "shape": tfbridge.ScalarShape(), "shared_name": s.Prefix() + "started",
	})
	r.started = s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{started, s.Const(true)}})
	message := fmt.Sprintf("nothing fills the queue %q: its QueueRunner was not started in this session. "+
		"NewMonitoredSession starts it, and so does StartQueueRunners.", r.name)
	check := graph.Assert(s, s.Op1("VarIsInitializedOp", nil, started), []tfbridge.Output{s.Const(message)}, nil)
	return graph.Identity(s.WithControlDependencies(check), handle)
}

// AddQueueRunner adds a runner to those of the graph, which [StartQueueRunners]
// starts.
func AddQueueRunner(s *graph.Scope, r *QueueRunner) { s.AddToCollection(queueRunners, r) }

// addRunner adds a runner to the graph's, and returns the queue for its consumers.
func addRunner(s *graph.Scope, q *queue.Queue, ops []*tfbridge.Operation, cancelOp *tfbridge.Operation) *queue.Queue {
	r := NewQueueRunner(s, q, ops, &QueueRunnerOptions{CancelOp: cancelOp})
	AddQueueRunner(s, r)
	return r.Queue()
}

// QueueRunners returns the runners of the graph, in the order in which they were
// added.
func QueueRunners(s *graph.Scope) []*QueueRunner {
	var runners []*QueueRunner
	for _, r := range s.Collection(queueRunners) {
		runners = append(runners, r.(*QueueRunner))
	}
	return runners
}

// Name returns the name of the queue's operation.
func (r *QueueRunner) Name() string { return r.name }

// Queue returns the queue for its consumers: a dequeue fails with code
// InvalidArgument in a session in which the runner was not started. It is nil for a
// runner that [ImportMetaGraph] made.
func (r *QueueRunner) Queue() *queue.Queue { return r.queue }

// EnqueueOps returns the operations that the goroutines run.
func (r *QueueRunner) EnqueueOps() []*tfbridge.Operation { return slices.Clone(r.enqueueOps) }

// maxGoroutines is the maximum number of enqueue operations of a runner. Each holds a
// thread of the operating system, and Go ends a process that has 10,000.
const maxGoroutines = 1000

// StartQueueRunners starts all runners of the graph in a session of it. Variables, such
// as those that count epochs, are initialized before: see [graph.Scope.Initializers].
// After an error it requests the coordinator to stop.
//
// The goroutines end with the data, or when the coordinator stops. Join waits for
// them; close the session afterwards.
func StartQueueRunners(c *Coordinator, session *tfbridge.Session, s *graph.Scope) error {
	for _, r := range QueueRunners(s) {
		if err := r.Start(c, session); err != nil {
			c.RequestStop(err)
			return err
		}
	}
	return nil
}

// Start starts a goroutine for each enqueue operation. While those of an earlier call
// for the same session are running, it does nothing.
func (r *QueueRunner) Start(c *Coordinator, session *tfbridge.Session) error {
	if len(r.enqueueOps) > maxGoroutines {
		return millrace.Errorf(millrace.ErrLimit, "queue %q has %d enqueue operations, at most %d are allowed", r.name, len(r.enqueueOps), maxGoroutines)
	}
	runs, err := r.prepare(session)
	if err != nil {
		return fmt.Errorf("start the runner of queue %q: %w", r.name, err)
	}
	if !r.claim(session) {
		return nil
	}
	stage := &stage{runner: r, coordinator: c, session: session, runs: runs, live: len(r.enqueueOps), canceled: make(chan struct{})}
	stage.keep = context.AfterFunc(c.Context(), stage.cancel)
	for i := range r.enqueueOps {
		name := r.describe(i)
		c.Go(name, func(ctx context.Context) error { return stage.fill(ctx, i, name) })
	}
	return nil
}

// describe names an enqueue operation in messages.
func (r *QueueRunner) describe(operation int) string {
	return fmt.Sprintf("queue %q, enqueue operation %d of %d (%s)", r.name, operation+1, len(r.enqueueOps), r.enqueueOps[operation].Name())
}

// claim reports whether the runner was not running in the session, and marks it as
// running.
func (r *QueueRunner) claim(session *tfbridge.Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[session] {
		return false
	}
	r.running[session] = true
	return true
}

// prepared are the runs of a runner in a session.
type prepared struct {
	enqueue       []*tfbridge.Callable
	close, cancel *tfbridge.Callable
}

// prepare checks the runs, and marks the runner as started.
func (r *QueueRunner) prepare(session *tfbridge.Session) (p prepared, err error) {
	options := &tfbridge.RunOptions{Unlimited: true, Inline: !r.pool}
	callable := func(op *tfbridge.Operation) (c *tfbridge.Callable) {
		if err == nil {
			c, err = session.PrepareRun(nil, nil, []*tfbridge.Operation{op}, options)
		}
		return c
	}
	for _, op := range r.enqueueOps {
		p.enqueue = append(p.enqueue, callable(op))
	}
	p.close, p.cancel = callable(r.closeOp), callable(r.cancelOp)
	if err == nil && r.started != nil {
		_, err = session.Run(nil, nil, []*tfbridge.Operation{r.started})
	}
	return p, err
}
