package queue_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// feed runs op, or fetches outputs if op is nil, with one value fed.
func feed(t testing.TB, session *tfbridge.Session, o tfbridge.Output, value any, op *tfbridge.Operation, outputs ...tfbridge.Output) error {
	t.Helper()
	v, err := tfbridge.NewTensor(value)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var targets []*tfbridge.Operation
	if op != nil {
		targets = []*tfbridge.Operation{op}
	}
	out, err := session.RunContext(t.Context(), map[tfbridge.Output]*tfbridge.Tensor{o: v}, outputs, targets)
	for _, tensor := range out {
		tensor.Close()
	}
	return err
}

// Each of these batches ends the process in TensorFlow: its number of elements does
// not fit in 63 bits.
func TestBatchThatIsTooLarge(t *testing.T) {
	s := graphtest.NewScope(t)
	wide := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(1<<40, 1<<22, 0)}
	q := queue.NewFIFO(s, 10, []graph.Spec{wide}, nil)
	enqueue := q.Enqueue(s, graph.Fill(s, s.Const([]int64{1 << 40, 1 << 22, 0}), s.Const(int64(0))))
	n := s.Placeholder(tfbridge.Int32, tfbridge.Shape{})
	batch := q.DequeueMany(s, n)
	session := graphtest.NewSession(t, s, nil)
	mustDo(t, session, enqueue)
	for _, value := range []any{int32(4), int32(math.MaxInt32), []int32{}} {
		if err := feed(t, session, n, value, nil, batch...); !errors.Is(err, tfbridge.InvalidArgument) {
			t.Errorf("batch of %v: got %v, want code InvalidArgument", value, err)
		}
	}
	if q.DequeueMany(s, s.Const(int32(4))); !errors.Is(s.Err(), millrace.ErrLimit) {
		t.Errorf("batch of 4: got %v, want an error of class %v", s.Err(), millrace.ErrLimit)
	}
}

// Two elements without values can become a batch that is too large when they are
// padded. They are refused one by one.
func TestPaddingThatIsTooLarge(t *testing.T) {
	s := graphtest.NewScope(t)
	open := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1, -1)}
	q := queue.NewPaddingFIFO(s, 10, []graph.Spec{open}, nil)
	shape := s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	one := q.Enqueue(s, graph.Fill(s, shape, s.Const(int64(0))))
	many := q.EnqueueMany(s, graph.Fill(s, shape, s.Const(int64(0))))
	known := q.Enqueue(s, s.Zeros(tfbridge.Int64, 1, 2))
	batch := q.DequeueUpTo(s, s.Const(int32(3)))
	session := graphtest.NewSession(t, s, nil)
	for _, dims := range [][]int64{{1 << 40, 0}, {0, 1 << 40}} {
		if err := feed(t, session, shape, dims, one); !errors.Is(err, tfbridge.InvalidArgument) {
			t.Errorf("an element of shape %v: got %v, want code InvalidArgument", dims, err)
		}
	}
	if err := feed(t, session, shape, []int64{2, 1 << 40, 0}, many); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("two large elements: got %v, want code InvalidArgument", err)
	}
	if err := feed(t, session, shape, []int64{2, 2, 1}, many); err != nil {
		t.Errorf("two small elements: %v", err)
	}
	mustDo(t, session, known)
	want := [][][]int64{{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}}
	if diff := cmp.Diff([]any{want}, mustFetch(t, session, batch...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A scalar for EnqueueMany ends the process if no shape is known.
func TestManyOfAScalarOfUnknownRank(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 10, []graph.Spec{{DType: tfbridge.Int64}}, nil)
	values := s.Placeholder(tfbridge.Int64, tfbridge.Shape{})
	many := q.EnqueueMany(s, values)
	session := graphtest.NewSession(t, s, nil)
	if err := feed(t, session, values, int64(1), many); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("a scalar: got %v, want code InvalidArgument", err)
	}
	if err := feed(t, session, values, []int64{1}, many); err != nil {
		t.Errorf("a vector: %v", err)
	}
}

// A queue reserves memory for MinAfterDequeue elements, and ends the process if
// there is not enough.
func TestReserveThatIsTooLarge(t *testing.T) {
	s := graphtest.NewScope(t)
	queue.NewRandomShuffle(s, math.MaxInt32, []graph.Spec{number}, &queue.RandomShuffleOptions{MinAfterDequeue: math.MaxInt32 - 1})
	if !errors.Is(s.Err(), millrace.ErrLimit) {
		t.Errorf("got %v, want an error of class %v", s.Err(), millrace.ErrLimit)
	}
}
