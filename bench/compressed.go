package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"millrace/tfbridge"
)

// The records of the reading benchmark, compressed. Inflating them takes longer than
// all other work, so one row compares with inflating alone, by the same zlib on one
// processor.

// Targets of compressed records, as ratios of records/s.
const (
	compressedTarget = 2
	inflateTarget    = 0.9
)

const inflateSource = "bench/bare/inflate.c"

// compressed measures reading of compressed files.
type compressed struct {
	sides
	folder  string   // folder of the records
	config  string   // loader config
	records int      // records of the folder
	inflate []string // the program that only inflates, and its arguments
}

// prepareCompressed makes the files and compiles what inflates them.
func prepareCompressed(ctx context.Context, s sides, o settings) (*compressed, error) {
	z := &compressed{sides: s, records: o.records}
	z.folder, z.config = s.millrace.data+"-gzip", filepath.Join(s.millrace.dir, "gzip.json")
	if err := z.make(o.passes); err != nil {
		return nil, fmt.Errorf("make compressed data: %w", err)
	}
	r, err := tfbridge.Open(nil)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(s.millrace.dir, "inflate")
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-I", filepath.Join(r.Dir(), "include"), "-o", program, inflateSource, "-ldl").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc %s: %w\n%s", inflateSource, err, out)
	}
	paths, err := filepath.Glob(filepath.Join(z.folder, "*.tfrecords"))
	if err != nil {
		return nil, err
	}
	z.inflate = append([]string{program, filepath.Join(r.Dir(), "libtensorflow_framework.so.2"), strconv.Itoa(o.passes)}, paths...)
	return z, nil
}

// make compresses the records, unless that was done, and writes the config.
func (z *compressed) make(epochs int) error {
	args := loaderArgs(z.folder, batchSize, epochs, "x", "y")
	if err := writeJSON(z.config, object{"type": "independent", "args": args}); err != nil {
		return err
	}
	if made(z.folder) {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(z.millrace.data, "*.tfrecords"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(z.folder, 0o777); err != nil {
		return err
	}
	for _, path := range paths {
		if err := compress(path, filepath.Join(z.folder, filepath.Base(path))); err != nil {
			return err
		}
	}
	manifest := manifestJSON()
	manifest["compression"] = "gzip"
	return writeJSON(filepath.Join(z.folder, manifestName), manifest)
}

// compress writes a file as one gzip member.
func compress(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	w := gzip.NewWriter(out)
	if _, err := io.Copy(w, in); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}

// run measures only compressed files.
func (z *compressed) run(ctx context.Context, s settings, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Compressed, err = z.measure(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-gzip.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, compressedRows()), nil
}

// measure takes one round.
func (z *compressed) measure(ctx context.Context) (r compressedRound, err error) {
	var inflated struct {
		Seconds float64 `json:"seconds"`
	}
	if err = runJSON(ctx, &inflated, z.inflate[0], z.inflate[1:]...); err != nil {
		return r, err
	}
	r.Inflate = float64(z.records) / inflated.Seconds
	if r.Ours, err = z.millrace.bench(ctx, z.config); err != nil {
		return r, err
	}
	theirs := z.python
	theirs.data = z.folder
	r.Python, err = theirs.rate(ctx, "compressed")
	return r, err
}

// compressedRows are the comparisons of compressed files.
func compressedRows() []row {
	ours := func(r round) float64 { return r.Compressed.Ours.RecordsPerS }
	return []row{
		{"read gzip, against vectorised parsing", ours,
			func(r round) float64 { return r.Compressed.Python.RecordsPerS }, rate, target{atLeast: compressedTarget}},
		{"read gzip, against inflating alone on one processor", ours,
			func(r round) float64 { return r.Compressed.Inflate }, rate, target{atLeast: inflateTarget}},
	}
}
