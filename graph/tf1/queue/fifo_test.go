package queue_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// number and word are components of the tests.
var (
	number = graph.Spec{Name: "number", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	word   = graph.Spec{Name: "word", DType: tfbridge.String, Shape: tfbridge.ScalarShape()}
)

// A queue returns elements one by one and stacked, in their order, and the remaining
// elements after it is closed.
func TestFIFO(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 10, []graph.Spec{number, word}, nil)
	first := q.Enqueue(s, s.Const(int64(1)), s.Const("a"))
	more := q.EnqueueMany(s, q.FromMap(s, map[string]tfbridge.Output{
		"word": s.Const([]string{"b", "c", "d", "e"}), "number": s.Const([]int64{2, 3, 4, 5}),
	})...)
	none := q.EnqueueMany(s, s.Zeros(tfbridge.Int64, 0), s.Zeros(tfbridge.String, 0))
	one := q.Dequeue(s)
	two := q.ToMap(q.DequeueMany(s, s.Const(int32(2))))
	rest := q.DequeueUpTo(s, s.Const(int32(3)))
	size, closed, end := q.Size(s), q.IsClosed(s), q.Close(s, false)
	session := graphtest.NewSession(t, s, nil)
	for _, op := range []*tfbridge.Operation{first, more, none} {
		mustDo(t, session, op)
	}
	check := func(want []any, outputs ...tfbridge.Output) {
		t.Helper()
		if diff := cmp.Diff(want, mustFetch(t, session, outputs...)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	check([]any{int32(5), false}, size, closed)
	check([]any{int64(1), "a"}, one...)
	mustDo(t, session, end)
	check([]any{[]int64{2, 3}, []string{"b", "c"}}, two["number"], two["word"])
	check([]any{[]int64{4, 5}, []string{"d", "e"}}, rest...)
	check([]any{int32(0), true}, size, closed)
	for _, values := range [][]tfbridge.Output{one, rest} {
		if _, err := fetch(t, session, values...); !errors.Is(err, tfbridge.OutOfRange) {
			t.Errorf("dequeue from a closed queue: got %v, want code OutOfRange", err)
		}
	}
	if err := do(t, session, first); !errors.Is(err, tfbridge.Cancelled) {
		t.Errorf("enqueue to a closed queue: got %v, want code Cancelled", err)
	}
	if err := do(t, session, end); !errors.Is(err, tfbridge.Cancelled) {
		t.Errorf("close of a closed queue: got %v, want code Cancelled", err)
	}
	if got, want := two["word"].Shape(), tfbridge.MakeShape(2); !got.Equal(want) {
		t.Errorf("a batch has shape %v, want %v", got, want)
	}
}

// A queue is on the CPU, which has all of its kernels, unless the scope says
// otherwise.
func TestDevice(t *testing.T) {
	s := graphtest.NewScope(t)
	for want, s := range map[string]*graph.Scope{"/cpu:0": s, "/job:ps/task:1": s.WithDevice("/job:ps/task:1")} {
		if got := queue.NewFIFO(s, 1, []graph.Spec{number}, nil).Handle().Op.Device(); got != want {
			t.Errorf("the queue's device is %q, want %q", got, want)
		}
	}
}
