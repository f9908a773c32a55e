package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
)

// parts are prepared before everything is measured.
type parts struct {
	training   *training
	serving    *serving
	compressed *compressed
	records    *records
	converting *converting
}

// everything measures and reports all there is.
func everything(ctx context.Context, s settings, p *parts, out io.Writer) (bool, error) {
	t := p.training
	dump := append([]string{script, "dump", t.sides.python.data, "--take", strconv.Itoa(dumpedBatches)}, t.sides.python.extra...)
	if err := t.sides.same(ctx, t.sides.millrace.first, dump...); err != nil {
		return false, err
	}
	q, err := prepareSequences(ctx, t.sides)
	if err != nil {
		return false, err
	}
	l, err := prepareLive(ctx, t.sides)
	if err != nil {
		return false, err
	}
	defer l.close()
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		if r, err = measure(ctx, t.sides); err != nil {
			return r, err
		}
		if r.Compressed, err = p.compressed.measure(ctx); err != nil {
			return r, err
		}
		if r.Records, err = p.records.measure(ctx); err != nil {
			return r, err
		}
		if r.Convert, err = p.converting.measure(ctx); err != nil {
			return r, err
		}
		if r.Sequences, err = q.measure(ctx); err != nil {
			return r, err
		}
		if r.Live, err = l.measure(ctx); err != nil {
			return r, err
		}
		if r.Seq, err = measureSeq(ctx, t.sides.python); err != nil {
			return r, err
		}
		if r.Queues, err = measureQueues(ctx, t.sides.python); err != nil {
			return r, err
		}
		if r.Training, err = t.measure(ctx); err != nil {
			return r, err
		}
		if r.Keras, err = measureKeras(ctx, t.sides); err != nil {
			return r, err
		}
		r.Serving, err = p.serving.measure(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results.json"), rounds); err != nil {
		return false, err
	}
	return report(out, rounds, recordRows(p.records.kinds)), nil
}

// rows are the comparisons, those with targets first.
var rows = []row{
	{"read, against one Example parsed at a time",
		func(r round) float64 { return r.Read.RecordsPerS },
		func(r round) float64 { return r.PerRecord.RecordsPerS }, rate, target{atLeast: 5}},
	{"read, against vectorised parsing",
		func(r round) float64 { return r.Read.RecordsPerS },
		func(r round) float64 { return r.Vectorised.RecordsPerS }, rate, target{atLeast: 1}},
	{"predict, against a loop over the signature",
		func(r round) float64 { return r.Predict.RecordsPerS },
		func(r round) float64 { return r.Loop.RecordsPerS }, rate, target{atLeast: 1.2}},
	{"start to first batch",
		func(r round) float64 { return r.First.FirstBatchS },
		func(r round) float64 { return r.Start.FirstBatchS }, seconds, target{atMost: 0.06, limit: 0.15}},
	{"peak memory",
		func(r round) float64 { return float64(r.First.PeakRSSBytes) },
		func(r round) float64 { return float64(r.Start.PeakRSSBytes) }, megabyte, target{atMost: 0.65}},

	{"read, against vectorised parsing of 8 batches, cut",
		func(r round) float64 { return r.Read.RecordsPerS },
		func(r round) float64 { return r.Regrouped.RecordsPerS }, rate, target{}},
	{"start to first prediction",
		func(r round) float64 { return r.Predict.FirstBatchS },
		func(r round) float64 { return r.StartPredict.FirstBatchS }, seconds, target{}},
	{"peak memory, predicting",
		func(r round) float64 { return float64(r.Predict.PeakRSSBytes) },
		func(r round) float64 { return float64(r.StartPredict.PeakRSSBytes) }, megabyte, target{}},
}

// report prints the table of everything, with the rows of records, and returns whether every
// target is met.
func report(out io.Writer, rounds []round, records []row) bool {
	met := table(out, rounds, slices.Concat(rows, records, compressedRows(), convertRows(), liveRows(), seqRows(), queueRows(), sequenceRows(), trainRows(rounds), kerasRows(), servingRows()))
	explainServing(out, rounds)
	fmt.Fprintf(out, "Python's fastest ways: %s; %s; %s.\n",
		rounds[0].PerRecord.Way, rounds[0].Vectorised.Way, rounds[0].Loop.Way)
	return met
}

// sides are the two programs to compare.
type sides struct {
	millrace millrace
	python   python
}

// measure takes one round, ours and theirs in turn.
func measure(ctx context.Context, s sides) (r round, err error) {
	model := []string{"--model", s.python.model}
	steps := []func() error{
		func() error { r.Read, err = s.millrace.bench(ctx, s.millrace.read); return err },
		func() error { r.Vectorised, err = s.python.rate(ctx, "vectorised"); return err },
		func() error { r.First, err = s.millrace.bench(ctx, s.millrace.first); return err },
		func() error { r.Start, err = s.python.start(ctx); return err },
		func() error { r.Predict, err = s.millrace.bench(ctx, s.millrace.predict, model...); return err },
		func() error { r.Loop, err = s.python.rate(ctx, "predict", model...); return err },
		func() error { r.StartPredict, err = s.python.start(ctx, model...); return err },
		func() error { r.PerRecord, err = s.python.rate(ctx, "per_record"); return err },
		func() error { r.Regrouped, err = s.python.rate(ctx, "regrouped"); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return round{}, err
		}
	}
	return r, r.check()
}
