package queue_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// numbers returns the numbers from 0 to n-1.
func numbers(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// A shuffling queue keeps MinAfterDequeue elements while it is open, returns each
// element once, and gives the same order for the same seed.
func TestRandomShuffle(t *testing.T) {
	const n, least = 40, 30
	var orders [][]int64
	for range 2 {
		s := graphtest.NewScope(t)
		q := queue.NewRandomShuffle(s, n, []graph.Spec{number}, &queue.RandomShuffleOptions{
			MinAfterDequeue: least, Seed: queue.DefaultSeed, Seed2: 7,
		})
		fill, first, rest := q.EnqueueMany(s, s.Const(numbers(n))), q.DequeueMany(s, s.Const(int32(n-least))), q.DequeueUpTo(s, s.Const(int32(n)))
		one, size, end := q.Dequeue(s), q.Size(s), q.Close(s, false)
		session := graphtest.NewSession(t, s, nil)
		mustDo(t, session, fill)
		order := mustFetch(t, session, first...)[0].([]int64)
		if !stays(t, session, one[0]) {
			t.Errorf("a dequeue did not wait although only MinAfterDequeue elements were left")
		}
		if got := mustFetch(t, session, size)[0]; got != int32(least) {
			t.Errorf("%v elements are left, want %d", got, least)
		}
		mustDo(t, session, end)
		order = append(order, mustFetch(t, session, rest...)[0].([]int64)...)
		if slices.IsSorted(order) {
			t.Errorf("the elements came in their order: %v", order)
		}
		orders = append(orders, slices.Clone(order))
		slices.Sort(order)
		if diff := cmp.Diff(numbers(n), order); diff != "" {
			t.Errorf("elements (-want +got)\n%s", diff)
		}
	}
	if diff := cmp.Diff(orders[0], orders[1]); diff != "" {
		t.Errorf("two sessions with one seed differ\n%s", diff)
	}
}

// A padding queue pads each batch to its largest element.
func TestPaddingFIFO(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewPaddingFIFO(s, 10, []graph.Spec{
		{DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)},
		{DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1, 2)},
	}, nil)
	short := q.Enqueue(s, s.Const([]string{"a"}), s.Const([][]int32{{1, 2}}))
	long := q.Enqueue(s, s.Const([]string{"b", "c"}), s.Zeros(tfbridge.Int32, 0, 2))
	batch := q.DequeueMany(s, s.Const(int32(2)))
	session := graphtest.NewSession(t, s, nil)
	mustDo(t, session, short)
	mustDo(t, session, long)
	want := []any{[][]string{{"a", ""}, {"b", "c"}}, [][][]int32{{{1, 2}}, {{0, 0}}}}
	if diff := cmp.Diff(want, mustFetch(t, session, batch...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := batch[1].Shape(), tfbridge.MakeShape(2, -1, 2); !got.Equal(want) {
		t.Errorf("a batch has shape %v, want %v", got, want)
	}
}

// A priority queue returns the lowest priority first.
func TestPriority(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewPriority(s, 10, []graph.Spec{number, word}, nil)
	fill := q.EnqueueMany(s, s.Const([]int64{3, math.MinInt64, 2}), s.Const([]string{"c", "a", "b"}))
	one, more := q.ToMap(q.Dequeue(s)), q.DequeueMany(s, s.Const(int32(2)))
	session := graphtest.NewSession(t, s, nil)
	mustDo(t, session, fill)
	if diff := cmp.Diff([]any{int64(math.MinInt64), "a"}, mustFetch(t, session, one["number"], one["word"])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]any{[]int64{2, 3}, []string{"b", "c"}}, mustFetch(t, session, more...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Elements may differ in their shapes if the components have none.
func TestComponentsWithoutShapes(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, queue.Unbounded, []graph.Spec{{DType: tfbridge.Int64}}, nil)
	scalar, vector, element := q.Enqueue(s, s.Const(int64(1))), q.Enqueue(s, s.Const([]int64{2, 3})), q.Dequeue(s)
	session := graphtest.NewSession(t, s, nil)
	mustDo(t, session, scalar)
	mustDo(t, session, vector)
	for _, want := range []any{int64(1), []int64{2, 3}} {
		if diff := cmp.Diff(want, mustFetch(t, session, element...)[0]); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// FromList uses the queue that an index chooses in each run.
func TestFromList(t *testing.T) {
	s := graphtest.NewScope(t)
	wide := number
	wide.Shape = tfbridge.MakeShape(2)
	narrow := wide
	narrow.Shape = tfbridge.MakeShape(1)
	queues := []*queue.Queue{
		queue.NewFIFO(s, 2, []graph.Spec{wide}, nil),
		queue.NewRandomShuffle(s, 2, []graph.Spec{narrow}, nil),
	}
	index := s.Placeholder(tfbridge.Int32, tfbridge.ScalarShape())
	values := s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	enqueue := queue.FromList(s, index, queues).Enqueue(s, values)
	sizes := []tfbridge.Output{queues[0].Size(s), queues[1].Size(s)}
	if got, want := queue.FromList(s, index, queues).Dequeue(s)[0].Shape(), tfbridge.MakeShape(-1); !got.Equal(want) {
		t.Errorf("the common shape is %v, want %v", got, want)
	}
	session := graphtest.NewSession(t, s, nil)
	put := func(i int32, list []int64) error {
		t.Helper()
		at, err := tfbridge.NewTensor(i)
		if err != nil {
			t.Fatal(err)
		}
		defer at.Close()
		v, err := tfbridge.NewTensor(list)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		_, err = session.RunContext(t.Context(), map[tfbridge.Output]*tfbridge.Tensor{index: at, values: v}, nil, []*tfbridge.Operation{enqueue})
		return err
	}
	if err := put(1, []int64{7}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{int32(0), int32(1)}, mustFetch(t, session, sizes...)); diff != "" {
		t.Errorf("sizes (-want +got)\n%s", diff)
	}
	if err := put(0, []int64{7}); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("an element of another queue's shape: got %v, want code InvalidArgument", err)
	}
	if err := put(2, []int64{7}); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("an index without a queue: got %v, want code InvalidArgument", err)
	}
}

// Queues with one SharedName are one queue.
func TestSharedName(t *testing.T) {
	s := graphtest.NewScope(t)
	o := &queue.Options{SharedName: "shared", Name: "mine"}
	first, second := queue.NewFIFO(s, 2, []graph.Spec{number}, o), queue.NewFIFO(s, 2, []graph.Spec{number}, o)
	alone := queue.NewFIFO(s, 2, []graph.Spec{number}, &queue.Options{SharedName: "shared", Container: "other"})
	enqueue := first.Enqueue(s, s.Const(int64(1)))
	sizes := []tfbridge.Output{second.Size(s), alone.Size(s)}
	session := graphtest.NewSession(t, s, nil)
	mustDo(t, session, enqueue)
	if diff := cmp.Diff([]any{int32(1), int32(0)}, mustFetch(t, session, sizes...)); diff != "" {
		t.Errorf("sizes (-want +got)\n%s", diff)
	}
	if first.Name() != "mine" || second.Name() != "mine_1" {
		t.Errorf("the operations are called %q and %q", first.Name(), second.Name())
	}
}

// Arguments that cannot work are refused while building, in an error with the queue's
// name.
func TestRefused(t *testing.T) {
	scalar := tfbridge.ScalarShape()
	two := []graph.Spec{number, word}
	fifo := func(components ...graph.Spec) func(*graph.Scope) {
		return func(s *graph.Scope) { queue.NewFIFO(s, 2, components, &queue.Options{Name: "q"}) }
	}
	use := func(f func(s *graph.Scope, q *queue.Queue)) func(*graph.Scope) {
		return func(s *graph.Scope) { f(s, queue.NewFIFO(s, 2, two, &queue.Options{Name: "q"})) }
	}
	tests := []struct {
		name, want string
		build      func(s *graph.Scope)
	}{
		{"no components", "no components", fifo()},
		{"no data type", "component 0 has data type", fifo(graph.Spec{})},
		{"reference", "component 0 has data type", fifo(graph.Spec{DType: 100 + tfbridge.Float, Shape: scalar})},
		{"name twice", `"number"`, fifo(number, number)},
		{"some names", `component 1 has the name ""`, fifo(number, graph.Spec{DType: tfbridge.Float, Shape: scalar})},
		{"some shapes", "give all components a shape or none", fifo(number, graph.Spec{Name: "x", DType: tfbridge.Float})},
		{"open shape", "fully defined", fifo(graph.Spec{DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)})},
		{"overflow", "component 0", fifo(graph.Spec{DType: tfbridge.Float, Shape: tfbridge.MakeShape(1<<40, 1<<40)})},
		{"no capacity", "capacity is 0", func(s *graph.Scope) { queue.NewFIFO(s, 0, two, &queue.Options{Name: "q"}) }},
		{"capacity", "capacity is 2147483648", func(s *graph.Scope) { queue.NewFIFO(s, 1<<31, two, &queue.Options{Name: "q"}) }},
		{"padding without shape", "has no shape", func(s *graph.Scope) {
			queue.NewPaddingFIFO(s, 2, []graph.Spec{{DType: tfbridge.Float}}, &queue.Options{Name: "q"})
		}},
		{"priority", "the first component is the priority", func(s *graph.Scope) {
			queue.NewPriority(s, 2, []graph.Spec{word, number}, &queue.Options{Name: "q"})
		}},
		{"priority without shapes", "the first component is the priority", func(s *graph.Scope) {
			queue.NewPriority(s, 2, []graph.Spec{{DType: tfbridge.Int64}, {DType: tfbridge.String}}, &queue.Options{Name: "q"})
		}},
		{"priority alone", "no component but the priority", func(s *graph.Scope) {
			queue.NewPriority(s, 2, []graph.Spec{number}, &queue.Options{Name: "q"})
		}},
		{"priority of a vector", "the first component is the priority", func(s *graph.Scope) {
			queue.NewPriority(s, 2, []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(1)}, {DType: tfbridge.Int64, Shape: scalar}}, &queue.Options{Name: "q"})
		}},
		{"min_after_dequeue", "must be larger than MinAfterDequeue, which is 2", func(s *graph.Scope) {
			queue.NewRandomShuffle(s, 2, two, &queue.RandomShuffleOptions{Options: queue.Options{Name: "q"}, MinAfterDequeue: 2})
		}},
		{"negative min_after_dequeue", "MinAfterDequeue is -1", func(s *graph.Scope) {
			queue.NewRandomShuffle(s, 2, two, &queue.RandomShuffleOptions{Options: queue.Options{Name: "q"}, MinAfterDequeue: -1})
		}},
		{"too few values", "1 values for 2 components", use(func(s *graph.Scope, q *queue.Queue) { q.Enqueue(s, s.Const(int64(1))) })},
		{"data type", `component 1 "word" is of type string, got int64`, use(func(s *graph.Scope, q *queue.Queue) {
			q.Enqueue(s, s.Const(int64(1)), s.Const(int64(1)))
		})},
		{"shape", `component 0 "number" takes shape [], got [1]`, use(func(s *graph.Scope, q *queue.Queue) {
			q.Enqueue(s, s.Const([]int64{1}), s.Const("a"))
		})},
		{"many of a scalar", `component 0 "number" gets a scalar`, use(func(s *graph.Scope, q *queue.Queue) {
			q.EnqueueMany(s, s.Const(int64(1)), s.Const("a"))
		})},
		{"number of elements", "must be a scalar int32", use(func(s *graph.Scope, q *queue.Queue) { q.DequeueMany(s, s.Const(int64(1))) })},
		{"negative number of elements", "must not be negative", use(func(s *graph.Scope, q *queue.Queue) { q.DequeueUpTo(s, s.Const(int32(-1))) })},
		{"many without shapes", "needs components that have shapes", func(s *graph.Scope) {
			queue.NewFIFO(s, 2, []graph.Spec{{DType: tfbridge.Float}}, &queue.Options{Name: "q"}).DequeueMany(s, s.Const(int32(1)))
		}},
		{"map lacks a name", `component 1 "word" is not among the values ["number"]`, use(func(s *graph.Scope, q *queue.Queue) {
			q.FromMap(s, map[string]tfbridge.Output{"number": s.Const(int64(1))})
		})},
		{"map has another name", `no component is called "x"`, use(func(s *graph.Scope, q *queue.Queue) {
			q.FromMap(s, map[string]tfbridge.Output{"number": s.Const(int64(1)), "word": s.Const("a"), "x": s.Const("a")})
		})},
		{"list of other types", `queue "q_1" (FIFOQueueV2) has the component 0 "word" of type string`, func(s *graph.Scope) {
			q := queue.NewFIFO(s, 2, []graph.Spec{number}, &queue.Options{Name: "q"})
			queue.FromList(s, s.Const(int32(0)), []*queue.Queue{q, queue.NewFIFO(s, 2, []graph.Spec{word}, &queue.Options{Name: "q"})})
		}},
		{"list of other lengths", `queue "q_1" (FIFOQueueV2) has 1 components`, func(s *graph.Scope) {
			q := queue.NewFIFO(s, 2, two, &queue.Options{Name: "q"})
			queue.FromList(s, s.Const(int32(0)), []*queue.Queue{q, queue.NewFIFO(s, 2, []graph.Spec{number}, &queue.Options{Name: "q"})})
		}},
		{"empty list", "0 queues are given", func(s *graph.Scope) { queue.FromList(s, s.Const(int32(0)), nil) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			tt.build(s)
			err := s.Err()
			if !errors.Is(err, millrace.ErrModel) {
				t.Fatalf("got %v, want an error of class %v", err, millrace.ErrModel)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "queue \"") {
				t.Errorf("got %v, want %s and the queue's name", err, tt.want)
			}
		})
	}
}
