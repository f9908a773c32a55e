package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/graph/tf1/train"
	"millrace/tfbridge"
)

// The pipeline of queues of TensorFlow's guide, with as many goroutines here as threads
// in Python: read, parse, shuffle, batch. In the guide a run reads one record.
// TensorFlow's reader hands each read to a thread of its own, which takes most of that
// run in every language. Our reader reads in the thread of the run.
const (
	queueScript          = "bench/bench_python_queues.py"
	queueMinAfterDequeue = 1000
	queueWarm            = 20 // batches
	queueUpTo            = 128
)

// queueWay is a way to fill the queue.
type queueWay struct {
	name    string
	threads int
	upTo    int64 // records of a run; 0: one, by Read
	batches int   // to measure
}

// queueWays are the ways. Python's threads are fastest with several.
var queueWays = []queueWay{
	{"one", 1, 0, 100}, {"several", 4, 0, 200}, {"up_to", 4, queueUpTo, 1000},
}

// measureQueues takes one round.
func measureQueues(ctx context.Context, p python) (queueRound, error) {
	r := queueRound{Ours: map[string]float64{}, Python: map[string]float64{}}
	for _, way := range queueWays {
		rate, err := queueRate(ctx, p.data, way)
		if err != nil {
			return r, err
		}
		r.Ours[way.name] = rate
		args := []string{queueScript, p.data}
		for _, n := range []int{batchSize, floats, way.threads, int(way.upTo), queueMinAfterDequeue, queueWarm, way.batches} {
			args = append(args, strconv.Itoa(n))
		}
		var theirs float64
		if err := runJSON(ctx, &theirs, p.program, args...); err != nil {
			return r, err
		}
		r.Python[way.name] = theirs
	}
	var err error
	r.Providers, err = measureProviders(ctx, providerSequences, providerEpochs)
	return r, err
}

// queueRate returns how many records a second come out of a ShuffleBatch.
func queueRate(ctx context.Context, folder string, way queueWay) (float64, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.tfrecords"))
	if err != nil || len(files) == 0 {
		return 0, errors.Join(fmt.Errorf("%s holds no records", folder), err)
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	names := train.StringInputProducer(s, s.Const(files), nil)
	batch := train.ShuffleBatch(s, way.read(s, names), batchSize, &train.ShuffleBatchOptions{
		NumThreads: way.threads, MinAfterDequeue: queueMinAfterDequeue, EnqueueOptions: train.EnqueueOptions{EnqueueMany: way.upTo > 0},
	})
	m, err := train.NewMonitoredSession(ctx, s, nil)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	n, begun := 0, time.Time{}
	for _, err := range m.Steps(ctx, batch.Dense, nil) {
		if err != nil {
			return 0, fmt.Errorf("a batch of queues: %w", err)
		}
		if n++; n == queueWarm {
			begun = time.Now()
		}
		if n == queueWarm+way.batches {
			break
		}
	}
	return float64(way.batches*batchSize) / time.Since(begun).Seconds(), m.Close()
}

// read adds a reader and a parser.
func (w queueWay) read(s *graph.Scope, names *queue.Queue) train.Tensors {
	features := &graph.ExampleFeatures{Dense: []graph.DenseFeature{
		{Key: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(floats)}, {Key: "y", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
	}}
	r := reader.NewTFRecord(s, nil)
	if w.upTo > 0 {
		_, records := r.ReadUpTo(s, names, s.Const(w.upTo))
		return train.Tensors{Dense: graph.ParseExampleV2(s, records, features).Dense}
	}
	_, record := r.Read(s, names)
	return train.Tensors{Dense: graph.ParseSingleExample(s, record, features).Dense}
}

// queueTarget is the target as a ratio of records/s.
const queueTarget = 3

// queueRows are the comparisons of pipelines of queues.
func queueRows() []row {
	against := func(name, ours, theirs string, t target) row {
		return row{
			name, func(r round) float64 { return r.Queues.Ours[ours] }, func(r round) float64 { return r.Queues.Python[theirs] }, rate, t,
		}
	}
	rows := []row{
		against("shuffle_batch of TFRecords, the guide's, 1 thread on both sides", "one", "one", target{atLeast: queueTarget}),
		against("shuffle_batch of TFRecords, the guide's, 4 threads on both sides", "several", "several", target{atLeast: queueTarget}),
		against("shuffle_batch of TFRecords read 128 at a time, against the guide's with 4 threads", "up_to", "several", target{}),
		against("shuffle_batch of TFRecords read 128 at a time on both sides", "up_to", "up_to", target{}),
	}
	return append(rows, providerRows()...)
}

// runQueues measures and reports only pipelines of queues.
func runQueues(ctx context.Context, s settings, p python, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Queues, err = measureQueues(ctx, p)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-queues.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, queueRows()), nil
}
