package train_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/train"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// A pipeline that is stopped in the middle leaks nothing, however often.
func TestStopInTheMiddle(t *testing.T) {
	folder := writeParityFiles(t)
	round := func() {
		s := graph.NewScope()
		defer s.Graph().Close()
		p := &pipelines{s, folder}
		o := &train.ShuffleBatchOptions{MinAfterDequeue: 4, Capacity: 12}
		batch := train.ShuffleBatchJoin(s, p.readers(3, 100, "a", "b", "c"), 5, o).Dense[0]
		m, err := train.NewMonitoredSession(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range m.Steps(t.Context(), []tfbridge.Output{batch}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	round() // sets up what the process needs once
	leak.Check(t, tfbridge.Live)
	for range soak.Repeat(10, 1000, 1) {
		round()
	}
}

// The test has queues of this many elements, filled by this many goroutines. Many
// rounds run at once, because a round mostly waits for other threads.
const (
	capacityOfStop   = 16
	goroutinesOfStop = 8
	roundsAtOnce     = 4
)

// A stop at any moment ends all goroutines in time, and loses no element that was
// enqueued before.
func TestStopAtRandom(t *testing.T) {
	p := newStopped(t)
	p.rounds(t, slices.Values(make([]int, 2*roundsAtOnce))) // starts the threads that TensorFlow keeps
	makeThreads(2 * roundsAtOnce * goroutinesOfStop)
	leak.Check(t, tfbridge.Live)
	p.rounds(t, soak.Repeat(20, 10_000, 1))
}

// makeThreads makes Go start as many threads as may wait in calls at the same time. Go
// keeps them. How many threads a few rounds need is random.
func makeThreads(n int) {
	var all, done sync.WaitGroup
	all.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	done.Wait()
}

// stopped is the graph of TestStopAtRandom: the runner, an element of its queue, and
// the count of each goroutine.
type stopped struct {
	scope            *graph.Scope
	runner           *train.QueueRunner
	element, counted []tfbridge.Output
	options          *tfbridge.SessionOptions
}

// newStopped returns a graph whose runner enqueues, in each goroutine, the number of the
// goroutine and a count.
func newStopped(t *testing.T) *stopped {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, capacityOfStop, []graph.Spec{scalarInt64[0], scalarInt64[0]}, nil)
	var ops []*tfbridge.Operation
	var counted []tfbridge.Output
	for i := range goroutinesOfStop {
		count := upTo(s, 1<<60)
		counted = append(counted, s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, count.Op.Inputs()[0]))
		ops = append(ops, q.Enqueue(s, s.Const(int64(i)), count))
	}
	runner := train.NewQueueRunner(s, q, ops, nil)
	p := &stopped{s, runner, runner.Queue().Dequeue(s), counted, graphtest.Unoptimized(t)}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// rounds makes rounds, several at a time.
func (p *stopped) rounds(t *testing.T, rounds iter.Seq[int]) {
	seed := rand.Uint64()
	var taking sync.Mutex
	next, stop := iter.Pull(rounds)
	defer stop()
	another := func() bool {
		taking.Lock()
		defer taking.Unlock()
		_, ok := next()
		return ok
	}
	var wg sync.WaitGroup
	for i := range uint64(roundsAtOnce) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, i))
			for n := 0; !t.Failed() && another(); n++ {
				if err := p.round(t.Context(), random); err != nil {
					t.Errorf("seed %d, stream %d, round %d: %v", seed, i, n, err)
				}
			}
		})
	}
	wg.Wait()
}

// round starts the runner in a separate session, stops it at a random moment, and
// checks the dequeued elements.
func (p *stopped) round(ctx context.Context, random *rand.Rand) error {
	session, err := tfbridge.NewSession(p.scope.Graph(), p.options)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := runInline(session, nil, p.scope.Initializers()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := train.NewCoordinator(ctx, &train.CoordinatorOptions{StopGracePeriod: time.Minute})
	if err := p.runner.Start(c, session); err != nil {
		return err
	}
	take := random.IntN(2 * capacityOfStop)
	if random.IntN(2) == 0 { // stop while the consumer reads
		take = -1
		yields := random.IntN(2000)
		c.Go("stop", func(context.Context) error {
			for range yields {
				runtime.Gosched()
			}
			c.RequestStop(nil)
			return nil
		})
	}
	next, err := p.consume(c, session, take)
	if err := errors.Join(err, c.Join()); err != nil {
		return err
	}
	return p.lost(session, next)
}

// consume takes elements until the queue is closed and empty. It requests a stop before
// it takes element number take. It returns the number of elements from each goroutine.
func (p *stopped) consume(c *train.Coordinator, session *tfbridge.Session, take int) (next [goroutinesOfStop]int64, err error) {
	dequeue, err := session.PrepareRun(nil, p.element, nil, &tfbridge.RunOptions{Inline: true})
	if err != nil {
		c.RequestStop(err)
		return next, err
	}
	for n := 0; ; n++ {
		if n == take {
			c.RequestStop(nil)
		}
		values, err := dequeue.Run(context.Background(), nil)
		if errors.Is(err, tfbridge.OutOfRange) {
			return next, nil
		}
		if err != nil {
			c.RequestStop(err)
			return next, err
		}
		from, number := values[0].Value().(int64), values[1].Value().(int64)
		values[0].Close()
		values[1].Close()
		if number != next[from] {
			err := fmt.Errorf("goroutine %d: element %d came, %d was lost", from, number, next[from])
			c.RequestStop(err)
			return next, err
		}
		next[from]++
	}
}

// lost returns an error if a goroutine has counted more elements than arrived, except
// for one element whose enqueue the stop canceled.
func (p *stopped) lost(session *tfbridge.Session, next [goroutinesOfStop]int64) error {
	values, err := runInline(session, p.counted, nil)
	if err != nil {
		return err
	}
	for i, v := range values {
		if count := v.Value().(int64); count > next[i]+1 {
			err = errors.Join(err, fmt.Errorf("goroutine %d has counted to %d, %d elements came", i, count, next[i]))
		}
		v.Close()
	}
	return err
}

// runInline makes a run in the calling thread. On a busy machine a thread switch takes
// longer than the run.
func runInline(session *tfbridge.Session, fetches []tfbridge.Output, targets []*tfbridge.Operation) ([]*tfbridge.Tensor, error) {
	run, err := session.PrepareRun(nil, fetches, targets, &tfbridge.RunOptions{Inline: true})
	if err != nil {
		return nil, err
	}
	return run.Run(context.Background(), nil)
}
