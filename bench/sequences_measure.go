package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"
)

const sequenceScript = "bench/bench_python_sequences.py"

// sequences measures the sequence loaders.
type sequences struct {
	sequenceFiles
	sides
	fastest []string // Python's fastest way for each job, known after the first round
}

// windowKey names a form ("float", "raw") and a size.
func windowKey(form string, size int) string { return form + "-" + strconv.Itoa(size) }

// form is a folder of chunks.
type form struct{ name, folder string }

func (f sequenceFiles) forms() []form { return []form{{"float", f.floats}, {"raw", f.raw}} }

// prepareSequences makes the files and checks that both sides give the same
// batches.
func prepareSequences(ctx context.Context, s sides) (*sequences, error) {
	q := &sequences{sequenceFiles: sequenceLayout(s.millrace.dir), sides: s}
	if err := q.make(); err != nil {
		return nil, fmt.Errorf("make data of sequences: %w", err)
	}
	for _, f := range q.forms() {
		for _, kind := range windowKinds {
			if err := q.same(ctx, q.windowConfig(f.folder, kind.size, 1), sequenceDump(f.folder, "--form", f.name, "--size", strconv.Itoa(kind.size))...); err != nil {
				return nil, err
			}
		}
	}
	return q, q.same(ctx, q.paddedConfig(1), sequenceDump(q.padded, "--form", "lists")...)
}

// sequenceDump returns the arguments with which Python dumps the first batches.
func sequenceDump(folder string, args ...string) []string {
	return append([]string{sequenceScript, "dump", folder, "--take", strconv.Itoa(dumpedBatches)}, args...)
}

// measure takes one round. Python measures everything in one process, because
// starting Python takes longer than the measurements.
func (q *sequences) measure(ctx context.Context) (r sequenceRound, err error) {
	r.Windows = map[string]*windowRound{}
	for _, f := range q.forms() {
		for _, kind := range windowKinds {
			w, err := q.windows(ctx, f, kind.size)
			if err != nil {
				return r, err
			}
			r.Windows[windowKey(f.name, kind.size)] = w
		}
	}
	if r.Lists, err = q.millrace.bench(ctx, q.paddedConfig(padEpochs)); err != nil {
		return r, err
	}
	if r.Lists.Records != padRecords*padEpochs {
		return r, fmt.Errorf("millrace read %d SequenceExamples, want %d", r.Lists.Records, padRecords*padEpochs)
	}
	return r, q.theirs(ctx, &r)
}

// run measures only the sequence loaders.
func (q *sequences) run(ctx context.Context, s settings, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (x round, err error) {
		x.Sequences, err = q.measure(ctx)
		return x, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-sequences.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, sequenceRows()), nil
}

// windows measures windows of a size. It measures the copy right before and right after
// Millrace, and uses the faster one.
func (q *sequences) windows(ctx context.Context, f form, size int) (*windowRound, error) {
	w := &windowRound{}
	err := readAnew(f.folder)
	if err != nil {
		return nil, err
	}
	w.Copy = copyRate(size)
	if w.Ours, err = q.millrace.bench(ctx, q.windowConfig(f.folder, size, chunkEpochs)); err != nil {
		return nil, err
	}
	w.Copy = max(w.Copy, copyRate(size))
	if want := int64(passSamples / size * chunkEpochs); w.Ours.Records != want {
		return nil, fmt.Errorf("millrace cut %d windows of %d, want %d", w.Ours.Records, size, want)
	}
	w.Samples = samplesPerSecond(w.Ours, size)
	return w, nil
}

// samplesPerSecond turns windows into samples.
func samplesPerSecond(f figures, size int) float64 { return f.RecordsPerS * float64(size) }

// job is one measurement for Python.
type job struct {
	Mode   string `json:"mode"`
	Folder string `json:"folder"`
	Form   string `json:"form,omitempty"`
	Size   int    `json:"size,omitempty"`
	Way    string `json:"way,omitempty"` // if set, only this way is measured
}

// theirs measures Python: every way in the first round, and then only the
// fastest way of each job.
func (q *sequences) theirs(ctx context.Context, r *sequenceRound) error {
	jobs := []job{{Mode: "per_record", Folder: q.padded}, {Mode: "batched", Folder: q.padded}}
	results := []*pythonRate{&r.Single, &r.Batched}
	for _, f := range q.forms() {
		for _, kind := range windowKinds {
			w := r.Windows[windowKey(f.name, kind.size)]
			jobs = append(jobs, job{Mode: "chunks", Folder: f.folder, Form: f.name, Size: kind.size})
			results = append(results, &w.Chunks)
			if kind.slide > 0 {
				jobs = append(jobs, job{Mode: "slide", Folder: f.folder, Form: f.name, Size: kind.size})
				results = append(results, &w.Slide)
			}
		}
	}
	for i := range jobs {
		if len(q.fastest) > 0 {
			jobs[i].Way = q.fastest[i]
		}
	}
	got, err := rates(ctx, &q.python, jobs, sequenceScript, "jobs")
	if err != nil {
		return err
	}
	q.fastest = nil
	for i, rate := range got {
		*results[i] = rate
		q.fastest = append(q.fastest, rate.Way)
	}
	return nil
}

// copyRate copies windows out of memory into batches, on this one thread, and
// returns samples/s.
func copyRate(size int) float64 {
	from := make([]float32, passSamples)
	for i := range from {
		from[i] = float32(i)
	}
	var to [prefetch][]float32 // batches in the prefetch buffer
	for i := range to {
		to[i] = make([]float32, windowBatch*size)
	}
	copyWindows(to[:], from, size)
	begin := time.Now()
	for range copyPasses {
		copyWindows(to[:], from, size)
	}
	return passSamples * copyPasses / time.Since(begin).Seconds()
}

// copyWindows copies one pass of windows, batch after batch.
func copyWindows(to [][]float32, from []float32, size int) {
	for k := 0; (k+1)*size <= len(from); k++ {
		batch := to[k/windowBatch%len(to)]
		copy(batch[k%windowBatch*size:][:size], from[k*size:])
	}
}

func samplesRate(v float64) string { return fmt.Sprintf("%.4g Msamples/s", v/1e6) }

// sequenceRows are the comparisons of the sequence loaders. The copies in
// memory are in Python's column.
func sequenceRows() []row {
	var targeted, others []row
	for _, form := range []string{"float", "raw"} {
		for _, kind := range windowKinds {
			at := func(r round) *windowRound { return r.Sequences.Windows[windowKey(form, kind.size)] }
			name := fmt.Sprintf("windows of %d %s samples, ", kind.size, form)
			ours := func(r round) float64 { return at(r).Samples }
			if kind.slide > 0 {
				targeted = append(targeted, row{name + "against a slide over samples", ours,
					func(r round) float64 { return at(r).Slide.RecordsPerS }, samplesRate, target{atLeast: kind.slide}})
			}
			chunks := row{name + "against chunks cut up", ours,
				func(r round) float64 { return at(r).Chunks.RecordsPerS }, samplesRate, target{atLeast: kind.chunks}}
			if kind.chunks > 0 {
				targeted = append(targeted, chunks)
			} else {
				others = append(others, chunks)
			}
			targeted = append(targeted, row{name + "against copies in memory", ours,
				func(r round) float64 { return at(r).Copy }, samplesRate, target{atLeast: kind.copies}})
		}
	}
	lists := func(r round) float64 { return r.Sequences.Lists.RecordsPerS }
	targeted = append(targeted,
		row{"padded lists, against one SequenceExample parsed at a time", lists,
			func(r round) float64 { return r.Sequences.Single.RecordsPerS }, rate, target{atLeast: 4}},
		row{"padded lists, against batched parsing", lists,
			func(r round) float64 { return r.Sequences.Batched.RecordsPerS }, rate, target{atLeast: 1}})
	return append(targeted, others...)
}
