package tfbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/testruntime"
)

func TestRun(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, MakeShape(-1))
	y := b.out("Mul", "y", nil, x, b.constant("two", float32(2)))
	s := b.session()
	in := b.tensor([]float32{1, 2})
	out, err := s.Run(map[Output]*Tensor{x: in}, []Output{y, x.Op.Output(0), y}, []*Operation{y.Op})
	if err == nil {
		t.Fatalf("fetch of a feed: %v", out)
	}
	out, err = s.Run(map[Output]*Tensor{x: in}, []Output{y, y}, []*Operation{y.Op})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if diff := cmp.Diff([]float32{2, 4}, o.Value()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		o.Close()
	}
	// This operation is added after the session, and is only a target.
	z := b.out("Neg", "z", nil, y)
	if diff := cmp.Diff([]float32{-2, -4}, run1(t, s, map[Output]*Tensor{x: in}, z)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if out, err := s.Run(map[Output]*Tensor{x: in}, nil, []*Operation{z.Op}); err != nil || len(out) != 0 {
		t.Errorf("only a target: %v, %v", out, err)
	}
	if s.Graph() != b.g {
		t.Error("Graph is another one")
	}
	devices, err := s.ListDevices()
	if err != nil || len(devices) == 0 || devices[0].Type != "CPU" || !strings.Contains(devices[0].String(), "CPU:0") {
		t.Errorf("ListDevices: %v, %v", devices, err)
	}
}

// Values of every type can be fed and fetched.
func TestRunTypes(t *testing.T) {
	b := newBuild(t)
	s := b.session()
	for _, v := range []any{true, int8(1), int16(1), int32(1), int64(1), uint8(1), uint16(1), uint32(1), uint64(1), float32(1), 1.0,
		complex64(1i), 1i, Float16(1), BFloat16(1), "text", []string{"a", strings.Repeat("b", 50)}, [][]float32{{}, {}}} {
		x := b.tensor(v)
		p := b.placeholder(fmt.Sprintf("p%d_%d", x.DataType(), len(x.Shape())), x.DataType(), Shape{})
		y := b.out("Identity", p.Op.Name()+"_y", nil, p)
		if diff := cmp.Diff(v, run1(t, s, map[Output]*Tensor{p: x}, y)); diff != "" {
			t.Errorf("%v (-want +got)\n%s", x.DataType(), diff)
		}
	}
}

// Strings stay valid in TensorFlow after their tensor is closed.
func TestStringsOutliveTheirTensor(t *testing.T) {
	b := newBuild(t)
	p := b.placeholder("p", String, Shape{})
	queue := b.out("FIFOQueueV2", "queue", map[string]any{"component_types": []DataType{String}})
	put := b.op(OpSpec{Type: "QueueEnqueueV2", Name: "put", Input: []Input{queue, OutputList{p}}})
	get := b.out("QueueDequeueV2", "get", map[string]any{"component_types": []DataType{String}}, queue)
	s := b.session()
	want := []string{strings.Repeat("a", 1000), "b"}
	for range 3 {
		x, err := NewTensor(want)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(map[Output]*Tensor{p: x}, nil, []*Operation{put}); err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	for range 3 {
		if diff := cmp.Diff(want, run1(t, s, nil, get)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, MakeShape(-1, 2))
	y := b.out("Identity", "y", nil, x)
	z := b.out("MatMul", "z", nil, x, b.constant("w", [][]float32{{1}, {2}}))
	ds := b.out("RangeDataset", "ds", map[string]any{"output_types": []DataType{Int64}, "output_shapes": []Shape{ScalarShape()}},
		b.constant("a", int64(0)), b.constant("b", int64(3)), b.constant("c", int64(1)))
	queue := b.out("FIFOQueueV2", "queue", map[string]any{"component_types": []DataType{String}})
	foreign := newBuild(t).constant("c", float32(1))
	s := b.session()
	good := b.tensor([][]float32{{1, 2}})
	closed := newTestTensor(t, float32(1))
	closed.Close()
	tests := []struct {
		name    string
		feeds   map[Output]*Tensor
		fetches []Output
		targets []*Operation
		want    string
		class   error
	}{
		{"nothing", nil, nil, nil, "nothing to run", millrace.ErrModel},
		{"variant", nil, []Output{ds}, nil, "ds:0 of type variant cannot be fetched", millrace.ErrModel},
		{"resource", nil, []Output{queue}, nil, "queue:0 of type resource cannot be fetched", millrace.ErrModel},
		{"nil tensor", map[Output]*Tensor{x: nil}, []Output{y}, nil, "value for x:0: tensor is nil", millrace.ErrClosed},
		{"closed tensor", map[Output]*Tensor{x: closed}, []Output{y}, nil, "value for x:0: tensor is closed", millrace.ErrClosed},
		{"type", map[Output]*Tensor{x: b.tensor([][]int32{{1, 2}})}, []Output{y}, nil, "x:0 takes type float32, got int32", millrace.ErrModel},
		{"shape", map[Output]*Tensor{x: b.tensor([][]float32{{1}})}, []Output{z}, nil, "x:0 takes shape [?, 2], got [1 1]", millrace.ErrModel},
		{"rank", map[Output]*Tensor{x: b.tensor([]float32{1})}, []Output{z}, nil, "x:0 takes shape [?, 2], got [1]", millrace.ErrModel},
		{"no feed", nil, []Output{y}, nil, "You must feed a value", millrace.ErrModel},
		{"foreign feed", map[Output]*Tensor{foreign: good}, []Output{y}, nil, "feed: output c:0 belongs to another graph", millrace.ErrModel},
		{"foreign fetch", nil, []Output{foreign}, nil, "fetch: output c:0 belongs to another graph", millrace.ErrModel},
		{"foreign target", nil, nil, []*Operation{foreign.Op}, "another graph", millrace.ErrModel},
		{"nil target", nil, nil, []*Operation{nil}, "it is nil", millrace.ErrModel},
		{"zero fetch", nil, []Output{{}}, nil, "it is nil", millrace.ErrModel},
		{"no such fetch", nil, []Output{y.Op.Output(1)}, nil, "there is no output 1", millrace.ErrModel},
		{"zero feed", map[Output]*Tensor{{}: good}, []Output{y}, nil, "it is nil", millrace.ErrModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := s.Run(tt.feeds, tt.fetches, tt.targets)
			if out != nil || !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %s", out, err, tt.want)
			}
		})
	}
	if _, err := s.Prepare([]Output{x, x}, []Output{y}, nil); err == nil || !strings.Contains(err.Error(), "x:0 is fed twice") {
		t.Errorf("fed twice: %v", err)
	}
	c, err := s.Prepare([]Output{x}, []Output{y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), []*Tensor{b.tensor([]float32{1})}); err == nil || !strings.Contains(err.Error(), "x:0 takes shape [?, 2], got [1]") {
		t.Errorf("another shape, prepared: %v", err)
	}
	if got := run1(t, s, map[Output]*Tensor{x: b.tensor([]float32{1})}, y); !reflect.DeepEqual(got, []float32{1}) {
		t.Errorf("another shape, not prepared: got %v", got)
	}
	if _, err := c.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "0 values for 1 feeds") {
		t.Errorf("too few values: %v", err)
	}
	// The session still works.
	out, err := c.Run(t.Context(), []*Tensor{good})
	if err != nil {
		t.Fatal(err)
	}
	out[0].Close()
}

func TestSessionOptions(t *testing.T) {
	b := newBuild(t)
	for _, o := range []*SessionOptions{
		nil, {}, {IntraOpThreads: 1, InterOpThreads: 2}, {InterOpThreads: -1},
		{Config: appendVarint(nil, configIntraOp, 1), InterOpThreads: 1},
	} {
		s, err := NewSession(b.g, o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		s.Close()
	}
	for want, o := range map[string]*SessionOptions{
		"Unparseable ConfigProto": {Config: []byte("\xff\xff\xff")},
		"holds a NUL":             {Target: "a\x00"},
		"-1 threads":              {IntraOpThreads: -1},
		"-2 operations":           {InterOpThreads: -2},
		"No session factory":      {Target: "nonsense://x"},
	} {
		if _, err := NewSession(b.g, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", o, err, want)
		}
	}
}

func TestClosedSession(t *testing.T) {
	b := newBuild(t)
	x := b.constant("x", int64(1))
	s := b.session()
	c, err := s.Prepare(nil, []Output{x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for _, s := range []*Session{s, nil, {}} {
		_, runErr := s.Run(nil, []Output{x}, nil)
		_, prepareErr := s.Prepare(nil, []Output{x}, nil)
		_, devicesErr := s.ListDevices()
		for i, err := range []error{runErr, prepareErr, devicesErr} {
			if !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("call %d on a closed session: %v", i, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := c.Run(t.Context(), nil); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("a callable of a closed session: %v", err)
	}
}

// A graph may be closed before its session.
func TestGraphClosedFirst(t *testing.T) {
	b := newBuild(t)
	x := b.constant("x", int64(1))
	s := b.session()
	c, err := s.Prepare(nil, []Output{x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.g.Close()
	out, err := c.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out[0].Close()
}

// emptyQueue returns a queue, and an output that waits for an element of it.
func emptyQueue(b *build) (queue, get Output) {
	queue = b.out("FIFOQueueV2", "queue", map[string]any{"component_types": []DataType{Int32}})
	return queue, b.out("QueueDequeueV2", "get", map[string]any{"component_types": []DataType{Int32}}, queue)
}

// A canceled caller returns at once; the session keeps working, and the element that
// the run takes later is not missed by another run.
func TestRunCanceled(t *testing.T) {
	b := newBuild(t)
	queue, get := emptyQueue(b)
	put := b.op(OpSpec{Type: "QueueEnqueueV2", Name: "put", Input: []Input{queue, OutputList{b.constant("v", int32(7))}}})
	p := b.placeholder("p", Float, Shape{})
	y := b.out("Identity", "y", nil, p)
	waiting := b.op(OpSpec{Type: "NoOp", Name: "waiting", ControlDependencies: []*Operation{get.Op, y.Op}})
	s := b.session()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	x, err := NewTensor(float32(1))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := s.RunContext(ctx, map[Output]*Tensor{p: x}, []Output{get}, []*Operation{waiting})
		done <- err
	}()
	cancel(cause)
	if err := <-done; !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, cause) {
		t.Errorf("canceled run: %v", err)
	}
	x.Close() // the run may still use it
	if _, err := s.RunContext(ctx, nil, []Output{y}, nil); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("run with an ended context: %v", err)
	}
	if _, err := s.Run(nil, nil, []*Operation{put}); err != nil {
		t.Errorf("the next run: %v", err)
	}
}

// Readers of a session that is being closed get their element or an error that it is
// closed, but never the end of the data.
func TestCloseStorm(t *testing.T) {
	b := newBuild(t)
	it := b.out("IteratorV2", "it", map[string]any{"shared_name": "", "container": "", "output_types": []DataType{Int64}, "output_shapes": []Shape{ScalarShape()}})
	ds := b.out("RangeDataset", "ds", map[string]any{"output_types": []DataType{Int64}, "output_shapes": []Shape{ScalarShape()}},
		b.constant("a", int64(0)), b.constant("b", int64(1)<<60), b.constant("c", int64(1)))
	pre := b.out("PrefetchDataset", "pre", map[string]any{"output_types": []DataType{Int64}, "output_shapes": []Shape{ScalarShape()}}, ds, b.constant("n", int64(2)))
	start := b.op(OpSpec{Type: "MakeIterator", Name: "start", Input: []Input{pre, it}})
	next := b.out("IteratorGetNext", "next", map[string]any{"output_types": []DataType{Int64}, "output_shapes": []Shape{ScalarShape()}}, it)
	_, get := emptyQueue(b)
	rounds := 60
	if testing.Short() || stress {
		rounds = 3
	}
	for round := range rounds {
		s, err := NewSession(b.g, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(nil, nil, []*Operation{start}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		begun := make(chan struct{}, 64)
		readers := 1 + round%16
		if round%20 == 19 {
			readers = 64
		}
		for i := range readers {
			out := next
			if i%4 == 3 {
				out = get
			}
			wg.Go(func() { readUntilClosed(t, s, out, begun) })
		}
		<-begun
		for range 2 {
			wg.Go(func() { s.Close() })
		}
		wg.Wait()
	}
}

// readUntilClosed runs a session until it is closed.
func readUntilClosed(t *testing.T, s *Session, o Output, begun chan<- struct{}) {
	c, err := s.Prepare(nil, []Output{o}, nil)
	for err == nil {
		select {
		case begun <- struct{}{}:
		default:
		}
		var out []*Tensor
		if out, err = c.Run(t.Context(), nil); err == nil {
			out[0].Close()
		}
	}
	if !errors.Is(err, millrace.ErrClosed) || errors.Is(err, OutOfRange) {
		t.Errorf("reader of a closed session: %v", err)
	}
}

// Runs that are prepared while session and graph are closed either succeed, or fail
// only because of Close.
func TestPrepareBesideClose(t *testing.T) {
	testruntime.Need(t)
	rounds := 2000
	if testing.Short() || stress {
		rounds = 20
	}
	for range rounds {
		b := &build{t: t, g: NewGraph()}
		p := b.placeholder("p", Float, ScalarShape())
		y := b.out("Identity", "y", nil, p)
		s, err := NewSession(b.g, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun, ended := make(chan struct{}), make(chan error)
		go func() {
			_, err := s.Prepare([]Output{p}, []Output{y, p}, []*Operation{y.Op})
			close(begun)
			for err == nil {
				_, err = s.Prepare([]Output{p}, []Output{y, p}, []*Operation{y.Op})
			}
			ended <- err
		}()
		<-begun
		b.g.Close() // closes the graph first, because a closed session would be noticed at once
		if err := <-ended; !errors.Is(err, millrace.ErrClosed) {
			t.Errorf("beside Close: %v", err)
		}
		s.Close()
	}
}

// Values may be closed while runs use them.
func TestTensorClosedDuringRun(t *testing.T) {
	b := newBuild(t)
	p := b.placeholder("p", String, Shape{})
	y := b.out("StringLength", "y", nil, p)
	s := b.session()
	c, err := s.Prepare([]Output{p}, []Output{y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		x, err := NewTensor([]string{strings.Repeat("x", 100), "y"})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				out, err := c.Run(context.Background(), []*Tensor{x})
				if err == nil {
					out[0].Close()
				} else if !errors.Is(err, millrace.ErrClosed) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() { x.Close() })
		wg.Wait()
	}
}

// blockedChild blocks far more callers than it allows threads.
func blockedChild() {
	const limit, callers = 4, 20_000
	if _, err := Open(&RuntimeOptions{MaxBlocking: limit}); err != nil {
		report(err)
		return
	}
	b := &build{t: &testing.T{}, g: NewGraph()}
	queue, get := emptyQueue(b)
	s, err := NewSession(b.g, &SessionOptions{IntraOpThreads: 1, InterOpThreads: limit})
	if err != nil {
		report(err)
		return
	}
	before := threads()
	var wg sync.WaitGroup
	var begun sync.WaitGroup
	failures := make(chan error, callers)
	begun.Add(callers)
	for range callers {
		wg.Go(func() {
			begun.Done()
			_, err := s.Run(nil, []Output{get}, nil)
			failures <- err
		})
	}
	begun.Wait()
	for len(blocking) < limit {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.RunContext(ctx, nil, []Output{get}, nil)
	fmt.Println("waiting canceled:", errors.Is(err, millrace.ErrCanceled))
	fmt.Println("few threads:", threads()-before <= limit+32)
	fmt.Println("unlimited:", runUnlimited(s, b.out("QueueSizeV2", "size", nil, queue)))
	s.Close()
	wg.Wait()
	closed := 0
	for range callers {
		if errors.Is(<-failures, millrace.ErrClosed) {
			closed++
		}
	}
	b.g.Close()
	fmt.Println("closed:", closed, "live:", Live())
}

// runUnlimited makes a run outside the limit and returns its error.
func runUnlimited(s *Session, fetch Output) error {
	c, err := s.PrepareRun(nil, []Output{fetch}, nil, &RunOptions{Unlimited: true})
	if err != nil {
		return err
	}
	for _, ctx := range []context.Context{context.Background(), context.WithValue(context.Background(), calling{}, true)} {
		ctx, cancel := context.WithTimeout(ctx, time.Minute) // without a deadline a run that waits for a slot would wait forever
		out, err := c.Run(ctx, nil)
		cancel()
		if err != nil {
			return err
		}
		out[0].Close()
	}
	return nil
}

// threads returns the number of threads of the process.
func threads() int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	return len(tasks)
}

func TestManyBlockedCallers(t *testing.T) {
	testruntime.Need(t)
	out, ok := child(t, "blocked")
	if want := "waiting canceled: true\nfew threads: true\nunlimited: <nil>\nclosed: 20000 live: 0\n"; !ok || out != want {
		t.Errorf("child\n got %s\nwant %s", out, want)
	}
}

// Handles that are never closed are freed in the end, and counted.
func TestDroppedHandle(t *testing.T) {
	testruntime.Need(t)
	if stress {
		t.Skip("the stress build collects by itself")
	}
	before, leaks := Live(), Leaked()
	func() {
		if _, err := NewTensor(int64(1)); err != nil {
			t.Fatal(err)
		}
	}()
	for i := 0; Live() > before && i < 1000; i++ {
		runtime.GC()
		runtime.Gosched()
	}
	if Live() > before || Leaked() != leaks+1 {
		t.Errorf("live %d, leaked %d; before %d and %d", Live(), Leaked(), before, leaks)
	}
}

// Readers of one iterator get all elements, each exactly once.
func TestReadersShareAnIterator(t *testing.T) {
	b := newBuild(t)
	attrs := map[string]any{"output_types": []DataType{Int64}, "output_shapes": []Shape{ScalarShape()}}
	it := b.out("IteratorV2", "it", map[string]any{"shared_name": "", "container": "", "output_types": []DataType{Int64}, "output_shapes": []Shape{ScalarShape()}})
	const n = 500
	ds := b.out("RangeDataset", "ds", attrs, b.constant("a", int64(0)), b.constant("b", int64(n)), b.constant("c", int64(1)))
	start := b.op(OpSpec{Type: "MakeIterator", Name: "start", Input: []Input{ds, it}})
	next := b.out("IteratorGetNext", "next", attrs, it)
	s := b.session()
	if _, err := s.Run(nil, nil, []*Operation{start}); err != nil {
		t.Fatal(err)
	}
	var seen [n]atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				out, err := s.Run(nil, []Output{next}, nil)
				if errors.Is(err, OutOfRange) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				seen[out[0].Value().(int64)].Add(1)
				out[0].Close()
			}
		})
	}
	wg.Wait()
	for i := range seen {
		if c := seen[i].Load(); c != 1 {
			t.Errorf("element %d came %d times", i, c)
		}
	}
}

// A feed replaces any tensor for one run, not only a placeholder's.
func TestFeedReplacesAnyTensor(t *testing.T) {
	b := newBuild(t)
	c := b.constant("c", int32(1))
	y := b.out("Identity", "y", nil, c)
	z := b.out("Identity", "z", nil, y)
	s := b.session()
	for feed, want := range map[Output]int32{{}: 1, c: 5, y: 5} {
		feeds := map[Output]*Tensor{feed: b.tensor(int32(5))}
		if feed == (Output{}) {
			feeds = nil
		}
		if diff := cmp.Diff(want, run1(t, s, feeds, z)); diff != "" {
			t.Errorf("%v fed (-want +got)\n%s", feed, diff)
		}
	}
}
