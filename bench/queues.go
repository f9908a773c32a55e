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
	"millrace/graph/reader"
	"millrace/graph/train"
	"millrace/tfbridge"
)

// The pipeline of queues of TensorFlow's guide, with as many goroutines here as
// threads in Python: read a record, parse it, shuffle, batch.
const (
	queueScript          = "bench/bench_python_queues.py"
	queueMinAfterDequeue = 1000
	queueWarm            = 20 // batches
	queueBatches         = 500
)

// queueThreads are the numbers of goroutines, and of threads in Python.
var queueThreads = []int{1, 4}

// queueRound is one measurement: records/s by the number of goroutines.
type queueRound struct {
	Ours   map[int]float64 `json:"millrace"`
	Python map[int]float64 `json:"python"`
}

// measureQueues takes one round.
func measureQueues(ctx context.Context, p python) (queueRound, error) {
	r := queueRound{Ours: map[int]float64{}, Python: map[int]float64{}}
	for _, threads := range queueThreads {
		rate, err := queueRate(ctx, p.data, threads, queueBatches)
		if err != nil {
			return r, err
		}
		r.Ours[threads] = rate
		var theirs float64
		args := []string{queueScript, p.data}
		for _, n := range []int{batchSize, floats, threads, queueMinAfterDequeue, queueWarm, queueBatches / 5} {
			args = append(args, strconv.Itoa(n))
		}
		if err := runJSON(ctx, &theirs, p.program, args...); err != nil {
			return r, err
		}
		r.Python[threads] = theirs
	}
	return r, nil
}

// queueRate returns how many records a second come out of a ShuffleBatch.
func queueRate(ctx context.Context, folder string, threads, batches int) (float64, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.tfrecords"))
	if err != nil || len(files) == 0 {
		return 0, errors.Join(fmt.Errorf("%s holds no records", folder), err)
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	_, record := reader.NewTFRecord(s, nil).Read(s, train.StringInputProducer(s, s.Const(files), nil))
	parsed := graph.ParseSingleExample(s, record, &graph.ExampleFeatures{Dense: []graph.DenseFeature{
		{Key: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(floats)}, {Key: "y", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
	}})
	batch := train.ShuffleBatch(s, train.Tensors{Dense: parsed.Dense}, batchSize, &train.ShuffleBatchOptions{
		NumThreads: threads, MinAfterDequeue: queueMinAfterDequeue,
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
		if n == queueWarm+batches {
			break
		}
	}
	return float64(batches*batchSize) / time.Since(begun).Seconds(), m.Close()
}

// queueTarget is the target as a ratio of records/s.
const queueTarget = 3

// queueRows are the comparisons of pipelines of queues.
func queueRows() []row {
	var rows []row
	for _, threads := range queueThreads {
		rows = append(rows, row{
			fmt.Sprintf("shuffle_batch of TFRecords, %d threads, against tf.compat.v1", threads),
			func(r round) float64 { return r.Queues.Ours[threads] },
			func(r round) float64 { return r.Queues.Python[threads] },
			rate, target{atLeast: queueTarget},
		})
	}
	return rows
}

// runQueues measures and reports pipelines of queues alone.
func runQueues(ctx context.Context, s settings, p python, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Queues, err = measureQueues(ctx, p)
		return r, err
	})
	if err != nil {
		return false, err
	}
	return table(out, rounds, queueRows()), nil
}
