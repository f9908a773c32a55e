package datapipeline_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// numbers describes data of one number a frame.
var numbers = &datapipeline.ExternData{Data: map[string]datapipeline.Data{
	"data": {DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)},
}}

// element returns an element of numbers.
func element(t testing.TB, end bool, values ...int32) datapipeline.Element {
	t.Helper()
	e := datapipeline.Element{}
	for key, value := range map[string]any{"data": values, "data/size0": int32(len(values)), "epoch_end": end} {
		tensor, err := tfbridge.NewTensor(value)
		if err != nil {
			t.Fatal(err)
		}
		e[key] = tensor
	}
	t.Cleanup(e.Close)
	return e
}

// dequeuer dequeues elements of data queues.
type dequeuer struct {
	queues  *datapipeline.TFDataQueues
	session *tfbridge.Session
	outputs []tfbridge.Output
}

// newDequeuer adds the operations to dequeue data and epoch_end.
func newDequeuer(s *graph.Scope, q *datapipeline.TFDataQueues) *dequeuer {
	d := q.MakeDequeueOp(s)
	return &dequeuer{queues: q, outputs: []tfbridge.Output{d["data"], d["epoch_end"]}}
}

// take dequeues the data of one element, and whether the epoch has ended.
func (d *dequeuer) take(ctx context.Context, train bool) ([]int32, bool, error) {
	flag, err := tfbridge.NewTensor(train)
	if err != nil {
		return nil, false, err
	}
	defer flag.Close()
	out, err := d.session.RunContext(ctx, map[tfbridge.Output]*tfbridge.Tensor{d.queues.TrainFlag: flag}, d.outputs, nil)
	if err != nil {
		return nil, false, err
	}
	defer out[0].Close()
	defer out[1].Close()
	return out[0].Value().([]int32), out[1].Value().(bool), nil
}

// The queue for training keeps 0.8 of its capacity back until the epoch ends, and shuffles.
// The queue for evaluation keeps nothing back and has separate elements, in order. The flag
// selects the queue.
func TestTFDataQueues(t *testing.T) {
	s := graphtest.NewScope(t)
	q := datapipeline.NewTFDataQueues(s, numbers, &datapipeline.TFDataQueuesOptions{Capacity: 10})
	d := newDequeuer(s, q)
	d.session = graphtest.NewSession(t, s, graphtest.Unoptimized(t))
	ctx := t.Context()
	is := func(what string, want bool, ask func(context.Context, *tfbridge.Session, bool) (bool, error), train bool) {
		t.Helper()
		if got, err := ask(ctx, d.session, train); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", what, got, err, want)
		}
	}
	put := func(train, end bool, values ...int32) {
		t.Helper()
		if err := q.Enqueue(ctx, d.session, train, element(t, end, values...)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int32(10) {
		is("HaveMore in training", i > 8, q.HaveMore, true)
		is("OneMoreEnqueueIsEnough in training", i == 8, q.OneMoreEnqueueIsEnough, true)
		put(true, false, i)
	}
	is("HaveMore in evaluation", false, q.HaveMore, false)
	is("OneMoreEnqueueIsEnough in evaluation", true, q.OneMoreEnqueueIsEnough, false)
	put(false, false, 100, 101)
	put(false, false, 102)
	is("HaveMore in evaluation", true, q.HaveMore, false)
	is("OneMoreEnqueueIsEnough in evaluation", false, q.OneMoreEnqueueIsEnough, false)

	full, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := q.Enqueue(full, d.session, true, element(t, false, 99)); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("enqueue into a full queue: %v", err)
	}
	var got []int32
	take := func(train, end bool) []int32 {
		t.Helper()
		values, ended, err := d.take(ctx, train)
		if err != nil || ended != end {
			t.Fatalf("take: %v, %v, %v; want the end: %v", values, ended, err, end)
		}
		return values
	}
	for range 2 {
		got = append(got, take(true, false)...)
	}
	is("HaveMore in training", false, q.HaveMore, true)
	put(true, true)
	for range 8 {
		got = append(got, take(true, false)...)
	}
	if values := take(true, true); len(values) != 0 {
		t.Errorf("the end of the epoch has data %v", values)
	}
	if slices.IsSorted(got) {
		t.Errorf("the queue for training keeps the order %v", got)
	}
	if slices.Sort(got); !slices.Equal(got, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("got %v, want each number once", got)
	}
	if a, b := take(false, false), take(false, false); !slices.Equal(a, []int32{100, 101}) || !slices.Equal(b, []int32{102}) {
		t.Errorf("in evaluation %v and %v", a, b)
	}
	if err := q.Enqueue(ctx, d.session, true, nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("enqueue of nothing: %v", err)
	}
	wrong := element(t, false, 1)
	delete(wrong, "data/size0")
	if err := q.Enqueue(ctx, d.session, true, wrong); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("enqueue without a size: %v", err)
	}
}

// Queues may take their data from tensors of the graph.
func TestTFDataQueuesOfTensors(t *testing.T) {
	s := graphtest.NewScope(t)
	q := datapipeline.NewTFDataQueues(s, numbers, &datapipeline.TFDataQueuesOptions{EnqueueData: map[string]tfbridge.Output{
		"data": s.Const([]int32{7, 8}), "data/size0": s.Const(int32(2)),
	}})
	d := newDequeuer(s, q)
	d.session = graphtest.NewSession(t, s, graphtest.Unoptimized(t))
	if err := q.Enqueue(t.Context(), d.session, false, nil); err != nil {
		t.Fatal(err)
	}
	if values, end, err := d.take(t.Context(), false); err != nil || end || !slices.Equal(values, []int32{7, 8}) {
		t.Errorf("got %v, %v, %v", values, end, err)
	}
	if err := q.Enqueue(t.Context(), d.session, false, element(t, false)); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("data for queues that take tensors: %v", err)
	}
}

// connector is a PipeConnector whose loop a test writes.
type connector struct {
	mu      sync.Mutex
	stopped bool
	err     error
	changed chan struct{}
}

func (c *connector) IsRunning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.stopped
}

func (c *connector) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *connector) Changed() <-chan struct{} { return c.changed }

func (c *connector) stop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.err = true, err
	close(c.changed)
}

// A consumer that calls HaveIncomingData gets every element, and false only after the last,
// in every interleaving of the threads. An error comes after the elements before it.
func TestHaveIncomingData(t *testing.T) {
	s := graphtest.NewScope(t)
	q := datapipeline.NewTFDataQueues(s, numbers, &datapipeline.TFDataQueuesOptions{Capacity: 2})
	d := newDequeuer(s, q)
	d.session = graphtest.NewSession(t, s, graphtest.Unoptimized(t))
	failed := errors.New("the source is gone")
	random := rand.New(rand.NewPCG(2, 29))
	for round := range 6 {
		ending := error(nil)
		if round%2 == 1 {
			ending = failed
		}
		n, delay := random.IntN(8), random.IntN(2000)
		c := &connector{changed: make(chan struct{})}
		var elements []datapipeline.Element
		for i := range n {
			elements = append(elements, element(t, false, int32(i)))
		}
		go func() {
			for _, e := range elements {
				if err := q.Enqueue(t.Context(), d.session, false, e); err != nil {
					c.stop(err)
					return
				}
				for range delay {
					runtime.Gosched()
				}
			}
			c.stop(ending)
		}()
		got := 0
		for {
			have, err := datapipeline.HaveIncomingData(t.Context(), d.session, q.Pipe(false), c)
			if !have {
				if err != ending || got != n {
					t.Errorf("round %d: %d elements, then %v; want %d, then %v", round, got, err, n, ending)
				}
				break
			}
			values, _, err := d.take(t.Context(), false)
			if err != nil || !slices.Equal(values, []int32{int32(got)}) {
				t.Fatalf("round %d: %v, %v; want %d", round, values, err, got)
			}
			got++
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := datapipeline.HaveIncomingData(ctx, d.session, q.Pipe(false), &connector{changed: make(chan struct{})}); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("with a context that is done: %v", err)
	}
}

// Placeholders accept exactly the values of their names.
func TestPlaceholders(t *testing.T) {
	s := graphtest.NewScope(t)
	for _, withBatch := range []bool{false, true} {
		p := datapipeline.MakePlaceholders(s, speech, withBatch)
		data := p.Data()
		want := tfbridge.MakeShape(-1, 2)
		if withBatch {
			want = tfbridge.MakeShape(-1, -1, 2)
		}
		if len(data) != 5 || !data["data"].Shape().Equal(want) {
			t.Errorf("placeholders %v, data of shape %v", data, data["data"].Shape())
		}
	}
	p := datapipeline.MakePlaceholders(s, numbers, false)
	e := element(t, false, 1, 2)
	if _, err := p.FeedDict(e); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("an unknown key: %v", err)
	}
	delete(e, "epoch_end")
	feeds, err := p.FeedDict(e)
	if err != nil || feeds[p.Data()["data"]] != e["data"] || len(feeds) != 2 {
		t.Errorf("feeds %v, %v", feeds, err)
	}
	e["data"], e["data/size0"] = e["data/size0"], e["data"]
	if _, err := p.FeedDict(e); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("values of the wrong shapes: %v", err)
	}
	delete(e, "data")
	if _, err := p.FeedDict(e); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a missing key: %v", err)
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}
