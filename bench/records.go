package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
)

// Records of several kinds, compared with the best of several pipelines in Python, and
// with the limit: plain C++ on one thread that reads, checks and decodes only these
// records.
const (
	recordsScript = "bench/bench_python_records.py"
	limitSource   = "bench/bare/limit.cc"
	recordEpochs  = 200 // many, so that the start of the session is negligible
	limitPasses   = 20
)

// recordKind is one kind of records, read in batches of a size.
type recordKind struct {
	name   string // name that people read
	kind   string // name that the other programs read
	batch  int
	python float64 // target: multiple of Python's rate
	limit  float64 // target: fraction of the limit
	folder string
	config string
}

// recordKinds returns all kinds, given the folder of those that other benchmarks read, too, and
// the one for the rest.
func recordKinds(data, dir string) []*recordKind {
	return []*recordKind{
		{name: "Examples of 64 floats", kind: "floats", batch: 128, python: 10, limit: 0.8, folder: data},
		{name: "Examples of 64 floats", kind: "floats", batch: 1024, python: 10, limit: 1.2, folder: data},
		{name: "Examples of 28x28 raw bytes", kind: "images", batch: 128, python: 8, limit: 0.8, folder: filepath.Join(dir, "images")},
		{name: "SequenceExamples of 5 to 200 steps, padded", kind: "steps", batch: 64, python: 8, limit: 0.5, folder: filepath.Join(dir, "steps")},
	}
}

// key names the kind among the results.
func (k *recordKind) key() string { return k.kind + "-" + strconv.Itoa(k.batch) }

// records measures all kinds of records.
type records struct {
	sides
	kinds   []*recordKind
	program string            // the limit
	fastest map[string]string // Python's fastest way of each kind, known after the first round
	more    *recordsMore
}

// prepareRecords makes the files, compiles the limit, and checks that both sides give the
// same batches.
func prepareRecords(ctx context.Context, s sides) (*records, error) {
	dir := s.millrace.dir
	r := &records{sides: s, program: filepath.Join(dir, "limit"), fastest: map[string]string{}, kinds: recordKinds(s.millrace.data, dir)}
	if err := makeKinds(r.kinds); err != nil {
		return nil, err
	}
	if err := compileBare(ctx, r.program, limitSource); err != nil {
		return nil, err
	}
	for _, k := range r.kinds {
		if err := r.same(ctx, k.config, recordsScript, "dump", k.kind, k.folder, strconv.Itoa(k.batch)); err != nil {
			return nil, err
		}
	}
	var err error
	r.more, err = prepareMore(ctx, s)
	return r, err
}

// run measures only records.
func (r *records) run(ctx context.Context, s settings, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (x round, err error) {
		x.Records, err = r.measure(ctx)
		return x, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-records.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, recordRows(r.kinds)), nil
}

// measure takes one round. The limit is measured right before and right after Millrace, and
// its faster figure counts.
func (r *records) measure(ctx context.Context) (x recordRound, err error) {
	x.Kinds = map[string]*kindRound{}
	for _, k := range r.kinds {
		if err := readAnew(k.folder); err != nil {
			return x, err
		}
		m := &kindRound{}
		before, err := r.limit(ctx, k)
		if err != nil {
			return x, err
		}
		if m.Ours, err = r.millrace.bench(ctx, k.config); err != nil {
			return x, err
		}
		after, err := r.limit(ctx, k)
		if err != nil {
			return x, err
		}
		m.Limit = max(before, after)
		x.Kinds[k.key()] = m
	}
	if x.Order, err = r.millrace.bench(ctx, r.kinds[0].config); err != nil {
		return x, err
	}
	if x.Exact, err = r.millrace.bench(ctx, r.more.exact); err != nil {
		return x, err
	}
	if x.Buffered, err = r.millrace.bench(ctx, r.more.buffered); err != nil {
		return x, err
	}
	if x.moreRound, err = r.more.measure(ctx); err != nil {
		return x, err
	}
	return x, r.theirs(ctx, &x)
}

// limit measures plain C++.
func (r *records) limit(ctx context.Context, k *recordKind) (float64, error) {
	paths, err := filepath.Glob(filepath.Join(k.folder, "*.tfrecords"))
	if err != nil {
		return 0, err
	}
	var got struct {
		RecordsPerS float64 `json:"records_per_s"`
	}
	err = runJSON(ctx, &got, r.program, append([]string{k.kind, strconv.Itoa(k.batch), strconv.Itoa(limitPasses)}, paths...)...)
	return got.RecordsPerS, err
}

// recordJob is one measurement for Python.
type recordJob struct {
	Kind   string `json:"kind"`
	Folder string `json:"folder"`
	Batch  int    `json:"batch"`
	Way    string `json:"way,omitempty"` // if set, only this way is measured
}

// theirs measures Python: every way in the first round, and then only the fastest one.
func (r *records) theirs(ctx context.Context, x *recordRound) error {
	jobs := []recordJob{{Kind: "jpegs", Folder: r.more.jpegs, Batch: jpegBatch}, {Kind: "buffered", Folder: r.millrace.data, Batch: batchSize}}
	results := []*pythonRate{&x.JPEGPython, &x.BufferedPython}
	for _, k := range r.kinds {
		jobs = append(jobs, recordJob{Kind: k.kind, Folder: k.folder, Batch: k.batch})
		results = append(results, &x.Kinds[k.key()].Python)
	}
	for i := range jobs {
		jobs[i].Way = r.fastest[fmt.Sprint(jobs[i].Kind, jobs[i].Batch)]
	}
	got, err := rates(ctx, &r.python, jobs, recordsScript, "rates")
	if err != nil {
		return err
	}
	for i, rate := range got {
		*results[i] = rate
		r.fastest[fmt.Sprint(jobs[i].Kind, jobs[i].Batch)] = rate.Way
	}
	return nil
}

// recordRows are the comparisons of records.
func recordRows(kinds []*recordKind) []row {
	var all []row
	for _, k := range kinds {
		at := func(x round) *kindRound { return x.Records.Kinds[k.key()] }
		name := fmt.Sprintf("%s, batches of %d, ", k.name, k.batch)
		ours := func(x round) float64 { return at(x).Ours.RecordsPerS }
		all = append(all,
			row{name + "against vectorised parsing", ours, func(x round) float64 { return at(x).Python.RecordsPerS }, rate, target{atLeast: k.python}},
			row{name + "against plain C++ on one thread", ours, func(x round) float64 { return at(x).Limit }, rate, target{atLeast: k.limit}})
	}
	all = append(all, row{"exact shuffle, against reading in order",
		func(x round) float64 { return x.Records.Exact.RecordsPerS },
		func(x round) float64 { return x.Records.Order.RecordsPerS }, rate, target{atLeast: 0.5}})
	all = append(all, row{"the first shuffled in a buffer of 10,000, four files in turns, against vectorised parsing",
		func(x round) float64 { return x.Records.Buffered.RecordsPerS },
		func(x round) float64 { return x.Records.BufferedPython.RecordsPerS }, rate, target{atLeast: bufferedTarget}})
	return append(all, moreRows()...)
}
