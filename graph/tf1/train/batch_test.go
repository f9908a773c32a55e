package train_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/train"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// A batch leaves MinAfterDequeue examples in an open shuffling queue, so the first batch
// needs that many more examples. A closed queue yields all.
func TestShuffleBatchBuffer(t *testing.T) {
	const least, size = 6, 4
	s := graphtest.NewScope(t)
	o := &train.ShuffleBatchOptions{MinAfterDequeue: least}
	o.AllowSmallerFinalBatch = true
	batch := train.ShuffleBatch(s, dense(upTo(s, 1<<60)), size, o).Dense[0]
	runner := train.QueueRunners(s)[0]
	handle := runner.EnqueueOps()[0].Inputs()[0]
	end := s.AddOperation(tfbridge.OpSpec{Type: "QueueCloseV2", Input: []tfbridge.Input{handle}})
	// An interrupted dequeue loses the examples that it has taken, so each of the two cases
	// has its own session.
	start := func(examples int) *tfbridge.Session {
		session := graphtest.NewSession(t, s, nil)
		markStarted(t, session, s)
		for range examples {
			mustRun(t, session, runner.EnqueueOps()[0])
		}
		return session
	}
	rows := func(session *tfbridge.Session, timeout time.Duration) (int, error) {
		take, err := session.PrepareRun(nil, []tfbridge.Output{batch}, nil, &tfbridge.RunOptions{Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		values, err := take.Run(bound(t), nil)
		if err != nil {
			return 0, err
		}
		defer values[0].Close()
		return len(values[0].Value().([]int64)), nil
	}
	if n, err := rows(start(least+size-1), 20*time.Millisecond); !errors.Is(err, tfbridge.DeadlineExceeded) {
		t.Errorf("with %d examples: a batch of %d, %v", least+size-1, n, err)
	}
	session := start(least + size)
	if n, err := rows(session, 0); n != size || err != nil {
		t.Fatalf("with %d examples: a batch of %d, %v", least+size, n, err)
	}
	mustRun(t, session, end)
	for _, want := range []int{size, least - size} {
		if n, err := rows(session, 0); n != want || err != nil {
			t.Errorf("of the closed queue: a batch of %d, %v, want %d", n, err, want)
		}
	}
	if n, err := rows(session, 0); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("at the end: a batch of %d, %v", n, err)
	}
	if got := train.RecommendedCapacity(1000, 4, 32); got != 1000+(4+2)*32 {
		t.Errorf("the recommended capacity is %d", got)
	}
}

// markStarted marks the runners as started, so that a test can fill their queues itself.
func markStarted(t *testing.T, session *tfbridge.Session, s *graph.Scope) {
	t.Helper()
	for _, op := range s.Graph().Operations() {
		if op.Type() == "AssignVariableOp" && filepath.Base(filepath.Dir(op.Name())) == "RandomShuffleQueueV2_runner" {
			mustRun(t, session, &op)
			return
		}
	}
	t.Fatal("nothing marks the runner as started")
}

// mustRun runs a target.
func mustRun(t *testing.T, session *tfbridge.Session, op *tfbridge.Operation) {
	t.Helper()
	if _, err := session.Run(nil, nil, []*tfbridge.Operation{op}); err != nil {
		t.Fatal(err)
	}
}

// Readers that share a queue of file names read different files: no file is read by
// two of them in an epoch. The names are enqueued while the readers read.
func TestReadersShareFiles(t *testing.T) {
	s := graphtest.NewScope(t)
	p := &pipelines{s, writeParityFiles(t)}
	files := train.StringInputProducer(s, s.Const(p.paths("a", "b", "c")), &train.ProducerOptions{NumEpochs: 1, Capacity: 1})
	var all []train.Tensors
	for i, record := range p.readersOf(files, 3) {
		all = append(all, dense(record, s.Const(int64(i))))
	}
	o := &train.ShuffleBatchOptions{MinAfterDequeue: 3}
	batch := train.ShuffleBatchJoin(s, all, 1, o)
	m, err := train.NewMonitoredSession(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	reader, records := map[byte]int64{}, 0
	for step, err := range m.Steps(bound(t), batch.Dense, nil) {
		if err != nil {
			t.Fatal(err)
		}
		file, by := step[0].Value().([]string)[0][0], step[1].Value().([]int64)[0]
		if first, ok := reader[file]; ok && first != by {
			t.Errorf("file %c is read by readers %d and %d", file, first, by)
		}
		reader[file] = by
		records++
	}
	if records != 12 || len(reader) != 3 {
		t.Errorf("%d records of %d files", records, len(reader))
	}
}

// A wrong argument is a failure of the scope, with a remedy.
func TestArguments(t *testing.T) {
	one := func(s *graph.Scope) train.Tensors { return dense(s.Const(int64(1))) }
	open := func(s *graph.Scope) train.Tensors {
		return dense(s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1)))
	}
	none := tfbridge.Output{}
	tests := map[string]func(s *graph.Scope){
		"no tensors":  func(s *graph.Scope) { train.Batch(s, train.Tensors{}, 2, nil) },
		"no sources":  func(s *graph.Scope) { train.BatchJoin(s, nil, 2, nil) },
		"zero output": func(s *graph.Scope) { train.Batch(s, dense(none), 2, nil) },
		"batch size":  func(s *graph.Scope) { train.Batch(s, one(s), -1, nil) },
		"threads":     func(s *graph.Scope) { train.Batch(s, one(s), 2, &train.BatchOptions{NumThreads: -1}) },
		"threads of a join": func(s *graph.Scope) {
			train.BatchJoin(s, []train.Tensors{one(s)}, 2, &train.BatchOptions{NumThreads: 2})
		},
		"open shape": func(s *graph.Scope) { train.Batch(s, open(s), 2, nil) },
		"shapes": func(s *graph.Scope) {
			train.Batch(s, one(s), 2, &train.BatchOptions{EnqueueOptions: train.EnqueueOptions{Shapes: []tfbridge.Shape{}}})
		},
		"many scalars": func(s *graph.Scope) {
			train.Batch(s, one(s), 2, &train.BatchOptions{EnqueueOptions: train.EnqueueOptions{EnqueueMany: true}})
		},
		"unequal sources": func(s *graph.Scope) { train.BatchJoin(s, []train.Tensors{one(s), dense(s.Const("x"))}, 2, nil) },
		"missing tensor":  func(s *graph.Scope) { train.BatchJoin(s, []train.Tensors{one(s), {}}, 2, nil) },
		"unequal names": func(s *graph.Scope) {
			named := func(name string) train.Tensors {
				return train.Tensors{Named: map[string]tfbridge.Output{name: s.Const(int64(1))}}
			}
			train.BatchJoin(s, []train.Tensors{named("a"), named("b")}, 2, nil)
		},
		"capacity": func(s *graph.Scope) {
			train.ShuffleBatch(s, one(s), 2, &train.ShuffleBatchOptions{Capacity: 5, MinAfterDequeue: 5})
		},
		"negative buffer": func(s *graph.Scope) {
			train.ShuffleBatch(s, one(s), 2, &train.ShuffleBatchOptions{MinAfterDequeue: -1})
		},
		"keep a number": func(s *graph.Scope) { train.MaybeBatch(s, one(s), s.Const(int32(1)), 2, nil) },
		"keep a vector": func(s *graph.Scope) { train.MaybeBatch(s, one(s), s.Const([]bool{true}), 2, nil) },
		"keep a matrix": func(s *graph.Scope) { train.MaybeBatch(s, one(s), s.Const([][]bool{{true}}), 2, nil) },
		"epochs":        func(s *graph.Scope) { train.LimitEpochs(s, s.Const("x"), 0) },
		"negative epochs": func(s *graph.Scope) {
			train.RangeInputProducer(s, s.Const(int32(3)), &train.ProducerOptions{NumEpochs: -1})
		},
		"no strings":   func(s *graph.Scope) { train.StringInputProducer(s, s.Const([]string{}), nil) },
		"numbers":      func(s *graph.Scope) { train.StringInputProducer(s, s.Const([]int32{1}), nil) },
		"a scalar":     func(s *graph.Scope) { train.InputProducer(s, s.Const("x"), nil) },
		"no rows":      func(s *graph.Scope) { train.SliceInputProducer(s, nil, nil) },
		"slice scalar": func(s *graph.Scope) { train.SliceInputProducer(s, []tfbridge.Output{s.Const("x")}, nil) },
		"unequal rows": func(s *graph.Scope) {
			train.SliceInputProducer(s, []tfbridge.Output{s.Const([]int32{1, 2}), s.Const([]int32{1})}, nil)
		},
		"open rows": func(s *graph.Scope) {
			train.InputProducer(s, s.Placeholder(tfbridge.Float, tfbridge.MakeShape(3, -1)), nil)
		},
		"other rows": func(s *graph.Scope) {
			train.InputProducer(s, s.Const([][]int32{{1, 2}}), &train.InputProducerOptions{ElementShape: tfbridge.MakeShape(3)})
		},
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			build(s)
			if err := s.Err(); !errors.Is(err, millrace.ErrModel) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// With a failed scope every function does nothing.
func TestFailedScope(t *testing.T) {
	s := graphtest.NewScope(t)
	first := fmt.Errorf("the first failure")
	s.UpdateErr("test", first)
	q := train.StringInputProducer(s, s.Const([]string{"x"}), nil)
	train.InputProducer(s, s.Const([]string{"x"}), nil)
	train.RangeInputProducer(s, s.Const(int32(1)), nil)
	train.SliceInputProducer(s, []tfbridge.Output{{}}, nil)
	train.Batch(s, dense(tfbridge.Output{}), 2, nil)
	train.ShuffleBatchJoin(s, nil, 2, nil)
	train.NewQueueRunner(s, q, nil, nil)
	train.MatchFilenamesOnce(s, tfbridge.Output{})
	train.LimitEpochs(s, tfbridge.Output{}, 1)
	train.MergedSummary(s)
	if err := s.Err(); !errors.Is(err, first) {
		t.Errorf("got %v", err)
	}
	if _, err := train.NewMonitoredSession(t.Context(), s, nil); !errors.Is(err, first) {
		t.Errorf("NewMonitoredSession: %v", err)
	}
}

// The shapes of sources are merged. Without padding at least one source must define each
// dimension. With padding, an undefined dimension is padded.
func TestSourcesOfDifferentShapes(t *testing.T) {
	s := graphtest.NewScope(t)
	vector := func(n int64) tfbridge.Output { return s.Placeholder(tfbridge.Float, tfbridge.MakeShape(n)) }
	known := train.BatchJoin(s, []train.Tensors{dense(vector(-1)), dense(vector(3))}, 2, nil)
	padded := train.BatchJoin(s, []train.Tensors{dense(vector(3)), dense(vector(-1))}, 2, &train.BatchOptions{DynamicPad: true})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		batch train.Tensors
		want  tfbridge.Shape
	}{"known": {known, tfbridge.MakeShape(2, 3)}, "padded": {padded, tfbridge.MakeShape(2, -1)}} {
		if got := tt.batch.Dense[0].Shape(); !got.Equal(tt.want) {
			t.Errorf("%s: the batch has shape %v, want %v", name, got, tt.want)
		}
	}
	if q := train.QueueRunners(s)[0].Queue(); q == nil || q.Components()[0].DType != tfbridge.Float {
		t.Errorf("the queue is %v", q)
	}
}

// The order of a ShuffleBatch follows from its seeds.
func TestShuffleBatchSeeds(t *testing.T) {
	order := func(seed, seed2 int64) string {
		s := graphtest.NewScope(t)
		o := &train.ShuffleBatchOptions{MinAfterDequeue: 30, Capacity: 60, Seed: seed, Seed2: seed2}
		batch := train.ShuffleBatch(s, dense(upTo(s, 30)), 30, o).Dense[0]
		m, err := train.NewMonitoredSession(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		// All 30 examples are in the queue before the first is drawn: fewer than
		// MinAfterDequeue and a batch are drawn only from the closed queue.
		for step, err := range m.Steps(bound(t), []tfbridge.Output{batch}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(step[0].Value())
		}
		t.Fatal("there was no batch")
		return ""
	}
	first := order(queue.DefaultSeed, 7)
	if again := order(queue.DefaultSeed, 7); again != first {
		t.Errorf("one seed gave the orders %s and %s", first, again)
	}
	for _, seeds := range [][2]int64{{queue.DefaultSeed, 8}, {queue.DefaultSeed + 1, 7}} {
		if other := order(seeds[0], seeds[1]); other == first {
			t.Errorf("the seeds %v gave the order of others: %s", seeds, other)
		}
	}
	if plain := fmt.Sprint(numbers(30)); first == plain {
		t.Errorf("nothing was shuffled: %s", first)
	}
}

// numbers returns the numbers below n.
func numbers(n int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// A join takes the examples of all its sources.
func TestJoinsTakeAllSources(t *testing.T) {
	for name, join := range map[string]func(s *graph.Scope, sources []train.Tensors) train.Tensors{
		"BatchJoin": func(s *graph.Scope, sources []train.Tensors) train.Tensors {
			return train.BatchJoin(s, sources, 1, nil)
		},
		"ShuffleBatchJoin": func(s *graph.Scope, sources []train.Tensors) train.Tensors {
			return train.ShuffleBatchJoin(s, sources, 1, &train.ShuffleBatchOptions{MinAfterDequeue: 3})
		},
	} {
		s := graphtest.NewScope(t)
		var sources []train.Tensors
		for i := range 3 {
			sources = append(sources, dense(upTo(s, 4), s.Const(int64(i))))
		}
		batch := join(s, sources)
		m, err := train.NewMonitoredSession(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		examples := map[int64]int{}
		for step, err := range m.Steps(bound(t), batch.Dense, nil) {
			if err != nil {
				t.Fatal(err)
			}
			examples[step[1].Value().([]int64)[0]]++
		}
		if want := map[int64]int{0: 4, 1: 4, 2: 4}; !maps.Equal(examples, want) {
			t.Errorf("%s: examples by source %v, want %v", name, examples, want)
		}
	}
}

// With more readers than files, one reader has each file to itself, so its records keep
// their order, and the readers without a file lose and repeat nothing.
func TestMoreReadersThanFiles(t *testing.T) {
	s := graphtest.NewScope(t)
	p := &pipelines{s, writeParityFiles(t)}
	files := train.StringInputProducer(s, s.Const(p.paths("a", "b")), &train.ProducerOptions{NumEpochs: 1})
	var all []train.Tensors
	for _, record := range p.readersOf(files, 5) {
		all = append(all, dense(record))
	}
	batch := train.BatchJoin(s, all, 1, nil)
	m, err := train.NewMonitoredSession(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	records := map[byte][]string{}
	for step, err := range m.Steps(bound(t), batch.Dense, nil) {
		if err != nil {
			t.Fatal(err)
		}
		record := step[0].Value().([]string)[0]
		records[record[0]] = append(records[record[0]], record)
	}
	for _, file := range []byte("ab") {
		want := slices.Compact(slices.Sorted(slices.Values(records[file])))
		if !slices.Equal(records[file], want) || len(want) < 3 {
			t.Errorf("file %c: records %q, want %q", file, records[file], want)
		}
	}
}
