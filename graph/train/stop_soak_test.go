package train_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/graph/queue"
	"millrace/graph/train"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	pb "millrace/internal/tfproto"
	"millrace/tfbridge"
)

// A pipeline that is stopped in the middle leaves nothing behind, however often.
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
	round() // what is set up once for the process
	leak.Check(t, tfbridge.Live)
	for range soak.Rounds(10, 1000) {
		round()
	}
}

// goroutinesOfStop is how many goroutines fill the queue of TestStopAtRandom.
const goroutinesOfStop = 8

// A stop at any moment ends all goroutines in time, and loses nothing that was
// enqueued before.
func TestStopAtRandom(t *testing.T) {
	s := newScope(t)
	q := queue.NewFIFO(s, 16, []graph.Spec{scalarInt64[0], scalarInt64[0]}, nil)
	var ops []*tfbridge.Operation
	var counted []tfbridge.Output
	for i := range goroutinesOfStop {
		count := upTo(s, 1<<60)
		counted = append(counted, s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, count.Op.Inputs()[0]))
		ops = append(ops, q.Enqueue(s, s.Const(int64(i)), count))
	}
	runner := train.NewQueueRunner(s, q, ops, nil)
	element := runner.Queue().Dequeue(s)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	options := plain(t)
	leak.Check(t, tfbridge.Live)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range soak.Rounds(30, 10_000) {
		stopAtRandom(t, random, s, stopped{runner, element, counted, options})
		if t.Failed() {
			t.Fatalf("round %d of seed %d", i, seed)
		}
	}
}

// stopped is what TestStopAtRandom runs: the runner, an element of its queue, and how
// far each goroutine has counted.
type stopped struct {
	runner           *train.QueueRunner
	element, counted []tfbridge.Output
	options          *tfbridge.SessionOptions
}

// plain are the options of a session that does not optimize the graphs of its runs,
// which takes longer than a round.
func plain(t *testing.T) *tfbridge.SessionOptions {
	config := &pb.ConfigProto{GraphOptions: &pb.GraphOptions{
		RewriteOptions:   &pb.RewriterConfig{DisableMetaOptimizer: true},
		OptimizerOptions: &pb.OptimizerOptions{OptLevel: pb.OptimizerOptions_L0},
	}}
	data, err := proto.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return &tfbridge.SessionOptions{Config: data}
}

// stopAtRandom makes one round in a session of its own.
func stopAtRandom(t *testing.T, random *rand.Rand, s *graph.Scope, p stopped) {
	session, err := tfbridge.NewSession(s.Graph(), p.options)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Run(nil, nil, s.Initializers()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := train.NewCoordinator(ctx, &train.CoordinatorOptions{StopGracePeriod: time.Minute})
	if err := p.runner.Start(c, session); err != nil {
		t.Fatal(err)
	}
	dequeue, err := session.Prepare(nil, p.element, nil)
	if err != nil {
		t.Fatal(err)
	}
	take, yields := random.IntN(60), random.IntN(2000)
	if random.IntN(2) == 0 { // stop while the consumer reads
		take = -1
		c.Go("stop", func(context.Context) error {
			for range yields {
				runtime.Gosched()
			}
			c.RequestStop(nil)
			return nil
		})
	}
	var next [goroutinesOfStop]int64
	for n := 0; ; n++ {
		if n == take {
			c.RequestStop(nil)
		}
		values, err := dequeue.Run(context.Background(), nil)
		if err != nil {
			break // closed and empty
		}
		from, number := values[0].Value().(int64), values[1].Value().(int64)
		values[0].Close()
		values[1].Close()
		if number != next[from] {
			t.Errorf("goroutine %d: element %d came, %d was lost", from, number, next[from])
			break
		}
		next[from]++
	}
	if err := c.Join(); err != nil {
		t.Errorf("Join() = %v", err)
	}
	values, err := session.Run(nil, p.counted, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if count := v.Value().(int64); count > next[i]+1 { // one element was counted whose enqueue the stop canceled
			t.Errorf("goroutine %d has counted to %d, %d elements came", i, count, next[i])
		}
		v.Close()
	}
}
