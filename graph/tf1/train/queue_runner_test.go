package train_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/train"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// bound returns a context with a deadline, for calls that would otherwise hang.
func bound(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// fetch runs one output.
func fetch(t testing.TB, session *tfbridge.Session, output tfbridge.Output) (any, error) {
	t.Helper()
	tensors, err := session.RunContext(bound(t), nil, []tfbridge.Output{output}, nil)
	if err != nil {
		return nil, err
	}
	defer tensors[0].Close()
	return tensors[0].Value(), nil
}

// fetchAll runs one output until it fails.
func fetchAll[T any](t testing.TB, session *tfbridge.Session, output tfbridge.Output) ([]T, error) {
	t.Helper()
	var values []T
	for {
		v, err := fetch(t, session, output)
		if err != nil {
			return values, err
		}
		values = append(values, v.(T))
	}
}

var scalarInt64 = []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}

// upTo returns an output that counts from 0 to limit-1 and then fails with code
// OutOfRange.
func upTo(s *graph.Scope, limit int64) tfbridge.Output {
	counter := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "shared_name": s.SubScope("counter").Prefix()})
	s.AddInitializer(s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{counter, s.Const(int64(0))}}))
	return s.Op1("ResourceCountUpTo", map[string]any{"limit": limit, "T": tfbridge.Int64}, counter)
}

// Several goroutines fill a queue: every element arrives once, the first of them to
// end does not close the queue, and the last one does.
func TestQueueRunner(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 4, scalarInt64, nil)
	var ops []*tfbridge.Operation
	for _, limit := range []int64{3, 50, 20} {
		ops = append(ops, q.Enqueue(s, upTo(s, limit)))
	}
	train.AddQueueRunner(s, train.NewQueueRunner(s, q, ops, nil))
	runner := train.QueueRunners(s)[0]
	value, size := runner.Queue().Dequeue(s)[0], q.Size(s)
	session := graphtest.NewSession(t, s, nil)
	c := train.NewCoordinator(t.Context(), nil)
	if err := train.StartQueueRunners(c, session, s); err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(c, session); err != nil {
		t.Fatal(err)
	}
	got, err := fetchAll[int64](t, session, value)
	if !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("after the last element: %v, want code OutOfRange", err)
	}
	var want []int64
	for _, limit := range []int64{3, 50, 20} {
		for i := range limit {
			want = append(want, i)
		}
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := c.Join(); err != nil {
		t.Errorf("Join() = %v", err)
	}
	if n, err := fetch(t, session, size); n != int32(0) || err != nil {
		t.Errorf("%v elements are left (%v)", n, err)
	}
}

// A stop ends goroutines that wait for room, and leaves none.
func TestQueueRunnerStops(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 2, scalarInt64, nil)
	enqueue := q.Enqueue(s, upTo(s, 1<<60))
	runner := train.NewQueueRunner(s, q, []*tfbridge.Operation{enqueue, enqueue, enqueue}, nil)
	value := runner.Queue().Dequeue(s)[0]
	session := graphtest.NewSession(t, s, nil)
	c := train.NewCoordinator(t.Context(), nil)
	if err := runner.Start(c, session); err != nil {
		t.Fatal(err)
	}
	if got, err := fetch(t, session, value); got != int64(0) {
		t.Errorf("the first element is %v (%v)", got, err)
	}
	c.RequestStop(nil)
	if err := c.Join(); err != nil {
		t.Errorf("Join() = %v", err)
	}
	if _, err := fetchAll[int64](t, session, value); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("a dequeue after the stop: %v, want code OutOfRange", err)
	}
	if _, err := session.Run(nil, nil, []*tfbridge.Operation{enqueue}); !errors.Is(err, tfbridge.Cancelled) {
		t.Errorf("an enqueue after the stop: %v, want code Cancelled", err)
	}
	c = train.NewCoordinator(t.Context(), nil)
	if err := runner.Start(c, session); err != nil {
		t.Fatal(err)
	}
	if err := c.Join(); !errors.Is(err, tfbridge.Cancelled) {
		t.Errorf("a runner of a closed queue: Join() = %v, want code Cancelled", err)
	}
}

// An error of one stage stops the others, and Join returns it with the name of the
// queue.
func TestQueueRunnerFails(t *testing.T) {
	s := graphtest.NewScope(t)
	first := queue.NewFIFO(s, 2, scalarInt64, &queue.Options{Name: "first"})
	fill := first.Enqueue(s, upTo(s, 1<<60))
	one := train.NewQueueRunner(s, first, []*tfbridge.Operation{fill, fill}, nil)
	train.AddQueueRunner(s, one)
	second := queue.NewFIFO(s, 2, scalarInt64, &queue.Options{Name: "second"})
	value := one.Queue().Dequeue(s)[0]
	small := s.Op1("Less", nil, value, s.Const(int64(10)))
	check := graph.Assert(s, small, []tfbridge.Output{value}, nil)
	move := second.Enqueue(s, graph.Identity(s.WithControlDependencies(check), value))
	two := train.NewQueueRunner(s, second, []*tfbridge.Operation{move, move, move}, nil)
	train.AddQueueRunner(s, two)
	out := two.Queue().Dequeue(s)[0]
	session := graphtest.NewSession(t, s, nil)
	c := train.NewCoordinator(t.Context(), nil)
	if err := train.StartQueueRunners(c, session, s); err != nil {
		t.Fatal(err)
	}
	if _, err := fetchAll[int64](t, session, out); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("the consumer gets %v, want code OutOfRange", err)
	}
	err := c.Join()
	if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), `"second"`) {
		t.Errorf("Join() = %v", err)
	}
	var failed *train.EnqueueError
	if !errors.As(err, &failed) || failed.Runner != two || failed.Operation < 0 || failed.Operation > 2 {
		t.Errorf("Join() = %#v", err)
	}
}

// A dequeue from a queue whose runner was not started fails and names the queue.
func TestQueueRunnerNotStarted(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 2, scalarInt64, &queue.Options{Name: "numbers"})
	runner := train.NewQueueRunner(s, q, []*tfbridge.Operation{q.Enqueue(s, upTo(s, 5))}, nil)
	value := runner.Queue().Dequeue(s)[0]
	session := graphtest.NewSession(t, s, nil)
	for range 2 {
		if _, err := fetch(t, session, value); !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), `\"numbers\"`) || !strings.Contains(err.Error(), "StartQueueRunners") {
			t.Fatalf("before the start: %v", err)
		}
	}
	c := train.NewCoordinator(t.Context(), nil)
	if err := runner.Start(c, session); err != nil {
		t.Fatal(err)
	}
	if got, err := fetchAll[int64](t, session, value); len(got) != 5 {
		t.Errorf("after the start: %v, %v", got, err)
	}
	if err := c.Join(); err != nil {
		t.Error(err)
	}
}

// A variable that counts epochs must be initialized; otherwise Join reports that.
func TestQueueRunnerUninitialized(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 2, scalarInt64, nil)
	runner := train.NewQueueRunner(s, q, []*tfbridge.Operation{q.Enqueue(s, upTo(s, 5))}, nil)
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	c := train.NewCoordinator(t.Context(), nil)
	if err := runner.Start(c, session); err != nil {
		t.Fatal(err)
	}
	if err := c.Join(); !errors.Is(err, tfbridge.FailedPrecondition) && !errors.Is(err, tfbridge.NotFound) || !strings.Contains(err.Error(), "counter") {
		t.Errorf("Join() = %v", err)
	}
}

// A runner that waits at a queue without a runner is named after the grace period.
// Closing the session ends it.
func TestQueueRunnerStuck(t *testing.T) {
	s := graphtest.NewScope(t)
	foreign := queue.NewFIFO(s, 2, scalarInt64, nil)
	q := queue.NewFIFO(s, 2, scalarInt64, &queue.Options{Name: "stuck"})
	runner := train.NewQueueRunner(s, q, []*tfbridge.Operation{q.Enqueue(s, foreign.Dequeue(s)[0])}, nil)
	session := graphtest.NewSession(t, s, nil)
	c := train.NewCoordinator(t.Context(), &train.CoordinatorOptions{StopGracePeriod: time.Millisecond})
	if err := runner.Start(c, session); err != nil {
		t.Fatal(err)
	}
	c.RequestStop(nil)
	if err := c.Join(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `"stuck"`) {
		t.Errorf("Join() = %v", err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	for ended := bound(t); c.Join() != nil; runtime.Gosched() { // each Join waits a millisecond
		if ended.Err() != nil {
			t.Fatalf("Join() when the session is closed: %v", c.Join())
		}
	}
}

// Wrong arguments are the scope's failure, or the error of Start.
func TestQueueRunnerArguments(t *testing.T) {
	tests := map[string]func(s *graph.Scope, q *queue.Queue){
		"no queue":      func(s *graph.Scope, q *queue.Queue) { train.NewQueueRunner(s, nil, nil, nil) },
		"no operations": func(s *graph.Scope, q *queue.Queue) { train.NewQueueRunner(s, q, nil, nil) },
		"nil operation": func(s *graph.Scope, q *queue.Queue) { train.NewQueueRunner(s, q, []*tfbridge.Operation{nil}, nil) },
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			make(s, queue.NewFIFO(s, 2, scalarInt64, nil))
			if err := s.Err(); !errors.Is(err, millrace.ErrModel) {
				t.Errorf("got %v", err)
			}
		})
	}
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 2, scalarInt64, nil)
	runner := train.NewQueueRunner(s, q, slices.Repeat([]*tfbridge.Operation{q.Enqueue(s, upTo(s, 5))}, 10_000), nil)
	train.AddQueueRunner(s, runner)
	session := graphtest.NewSession(t, s, nil)
	c := train.NewCoordinator(t.Context(), nil)
	if err := train.StartQueueRunners(c, session, s); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("10,000 goroutines: %v", err)
	}
	if err := c.Join(); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("Join() = %v", err)
	}
	closed := graphtest.NewSession(t, s, nil)
	closed.Close()
	if err := train.NewQueueRunner(s, q, runner.EnqueueOps()[:1], nil).Start(train.NewCoordinator(t.Context(), nil), closed); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("a closed session: %v", err)
	}
}
