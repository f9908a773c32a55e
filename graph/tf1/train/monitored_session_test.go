package train_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/graph/tf1/train"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// steps reads the strings of all steps.
func steps(t testing.TB, m *train.MonitoredSession, fetch tfbridge.Output) (batches [][]string, err error) {
	t.Helper()
	for step, err := range m.Steps(bound(t), []tfbridge.Output{fetch}, nil) {
		if err != nil {
			return batches, err
		}
		batches = append(batches, step[0].Value().([]string))
	}
	return batches, nil
}

// A session initializes variables, starts runners, and ends with the data.
func TestMonitoredSession(t *testing.T) {
	s := graphtest.NewScope(t)
	p := &pipelines{s, writeParityFiles(t)}
	batch := train.BatchJoin(s, p.readers(3, 2, "a", "b", "c"), 5, &train.BatchOptions{EnqueueOptions: train.EnqueueOptions{AllowSmallerFinalBatch: true}}).Dense[0]
	m, err := train.NewMonitoredSession(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := steps(t, m, batch)
	if err != nil || len(batches) != 5 || len(slices.Concat(batches...)) != 24 {
		t.Errorf("%d records in %d batches, %v; want 24 in 5", len(slices.Concat(batches...)), len(batches), err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if _, err := m.Run(t.Context(), nil, []tfbridge.Output{batch}, nil); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

// The loop gets the error of a failed runner, and not the end of the data that the closed
// queue reports.
func TestMonitoredSessionFails(t *testing.T) {
	s := graphtest.NewScope(t)
	p := &pipelines{s, writeParityFiles(t)}
	batch := train.Batch(s, dense(p.values(1, "a", "damaged")), 2, nil).Dense[0]
	m, err := train.NewMonitoredSession(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	batches, err := steps(t, m, batch)
	if !errors.Is(err, tfbridge.DataLoss) {
		t.Errorf("the loop ends with %v after %d batches, want code DataLoss", err, len(batches))
	}
	if err := m.Close(); !errors.Is(err, tfbridge.DataLoss) {
		t.Errorf("Close() = %v", err)
	}
}

// A cancelled context stops the runners and the loop.
func TestMonitoredSessionCanceled(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 2, scalarInt64, nil)
	train.AddQueueRunner(s, train.NewQueueRunner(s, q, []*tfbridge.Operation{q.Enqueue(s, upTo(s, 1<<60))}, nil))
	value := train.QueueRunners(s)[0].Queue().Dequeue(s)[0]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m, err := train.NewMonitoredSession(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var last error
	for _, err := range m.Steps(bound(t), []tfbridge.Output{value}, nil) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, millrace.ErrCanceled) {
		t.Errorf("the loop ends with %v after %d steps", last, n)
	}
	if err := m.Close(); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("Close() = %v", err)
	}
}

// A wrong graph and variables that cannot be initialized are errors, and leak nothing.
func TestMonitoredSessionUnmade(t *testing.T) {
	s := graphtest.NewScope(t)
	train.StringInputProducer(s, s.Const([]string{}), nil)
	if _, err := train.NewMonitoredSession(t.Context(), s, nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a scope that failed: %v", err)
	}
	s = graphtest.NewScope(t)
	s.AddInitializer(s.AddOperation(tfbridge.OpSpec{Type: "Assert", Input: []tfbridge.Input{s.Const(false), tfbridge.OutputList{s.Const("no")}}}))
	if _, err := train.NewMonitoredSession(t.Context(), s, nil); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("an initializer that fails: %v", err)
	}
}

// Files that appear after the pattern was matched are not seen. The names of a few epochs
// are enqueued before the file appears, those of the last epochs certainly later.
func TestMatchFilenamesOnceKeeps(t *testing.T) {
	const epochs = 20
	s := graphtest.NewScope(t)
	folder := t.TempDir()
	for _, name := range []string{"b", "a"} {
		writeRecords(t, filepath.Join(folder, name), []byte(name))
	}
	files := train.StringInputProducer(s, train.MatchFilenamesOnce(s, s.Const([]string{filepath.Join(folder, "*")})), &train.ProducerOptions{NumEpochs: epochs, InOrder: true, Capacity: 1})
	_, value := reader.NewTFRecord(s, &reader.TFRecordOptions{TensorFlow: true}).Read(s, files)
	batch := train.Batch(s, dense(value), 2, &train.BatchOptions{Capacity: 2}).Dense[0]
	m, err := train.NewMonitoredSession(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	n := 0
	for step, err := range m.Steps(bound(t), []tfbridge.Output{batch}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(step[0].Value()); got != "[a b]" {
			t.Errorf("batch %d is %s, want [a b]", n, got)
		}
		if n == 0 {
			writeRecords(t, filepath.Join(folder, "aa"), []byte("late"))
		}
		n++
	}
	if n != epochs {
		t.Errorf("%d epochs, want %d", n, epochs)
	}
	if _, err := os.Stat(filepath.Join(folder, "aa")); err != nil {
		t.Fatal(err)
	}
}

// The files are looked up by the initializers, and not by each run that needs them.
func TestMatchFilenamesOnceLooksUpOnce(t *testing.T) {
	s := graphtest.NewScope(t)
	folder := t.TempDir()
	write := func(name string) { writeRecords(t, filepath.Join(folder, name), []byte(name)) }
	write("a")
	files := train.MatchFilenamesOnce(s, s.Const(filepath.Join(folder, "*")))
	later := graph.Identity(s, files)
	session := graphtest.NewSession(t, s, graphtest.Unoptimized(t)) // TensorFlow may compute a constant once for several runs
	for i, output := range []tfbridge.Output{files, files, later} {
		got, err := fetch(t, session, output)
		if want := fmt.Sprint([]string{filepath.Join(folder, "a")}); err != nil || fmt.Sprint(got) != want {
			t.Errorf("run %d: %v, %v, want %s", i, got, err, want)
		}
		write("late")
	}
}
