package main

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"millrace/graph"
	"millrace/graph/dataset"
)

// Elements from a Go sequence, compared with elements from a Python generator.
const (
	seqScript  = "bench/bench_python_fromseq.py"
	seqBatch   = 128
	seqWarm    = 20   // batches
	seqBatches = 5000 // batches that we read; Python reads a fiftieth of them
)

// seqVector is an element of the larger kind.
type seqVector [128]float32

// measureSeq takes one round.
func measureSeq(ctx context.Context, p python) (r seqRound, err error) {
	if r.Ours.Scalars, err = seqRate(ctx, int64(1), seqBatches); err != nil {
		return r, err
	}
	if r.Ours.Vectors, err = seqRate(ctx, seqVector{}, seqBatches); err != nil {
		return r, err
	}
	if r.Ours.Strings, err = seqRate(ctx, "a line of text", seqBatches); err != nil {
		return r, err
	}
	return r, runJSON(ctx, &r.Python, p.program, seqScript,
		strconv.Itoa(seqBatch), strconv.Itoa(seqWarm), strconv.Itoa(seqBatches/50))
}

// seqRate returns how many elements a second come out of an endless sequence
// of one value, in batches.
func seqRate[T any](ctx context.Context, value T, batches int) (float64, error) {
	s := graph.NewScope()
	defer s.Graph().Close()
	seq := func(yield func(T, error) bool) {
		for yield(value, nil) {
		}
	}
	d := dataset.FromSeq(s, iter.Seq2[T, error](seq), nil).Batch(seqBatch, true)
	n, begun := 0, time.Time{}
	for _, err := range d.All(ctx, nil) {
		if err != nil {
			return 0, fmt.Errorf("elements of a sequence: %w", err)
		}
		if n++; n == seqWarm {
			begun = time.Now()
		}
		if n == seqWarm+batches {
			break
		}
	}
	return float64(batches*seqBatch) / time.Since(begun).Seconds(), nil
}

func elements(v float64) string { return fmt.Sprintf("%.0f elements/s", v) }

// seqRows are the comparisons of live elements.
func seqRows() []row {
	several := target{atLeast: 4}
	return []row{
		{"numbers of a Go sequence, against from_generator",
			func(r round) float64 { return r.Seq.Ours.Scalars },
			func(r round) float64 { return r.Seq.Python.Scalars }, elements, several},
		{"vectors of 128 floats of a Go sequence, against from_generator",
			func(r round) float64 { return r.Seq.Ours.Vectors },
			func(r round) float64 { return r.Seq.Python.Vectors }, elements, several},
		{"strings of a Go sequence, against from_generator",
			func(r round) float64 { return r.Seq.Ours.Strings },
			func(r round) float64 { return r.Seq.Python.Strings }, elements, several},
	}
}
