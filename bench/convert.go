package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Writing records, from structs in memory and from tables in files, compared with a
// loop in Python. Structs are also compared with plain C++ on one thread, which copies
// records that are encoded already and computes their checksums.
const (
	convertScript       = "bench/bench_python_convert.py"
	convertRequirements = "bench/convert-requirements.txt"
	writeSource         = "bench/bare/write.cc"
)

// Targets of writing, as ratios of records/s.
const (
	writeTarget     = 8
	writeBareTarget = 0.3
	convertTarget   = 5
)

// converting measures writing.
type converting struct {
	millrace
	interpreter string // Python with TensorFlow, pandas and PyArrow
	bare        string // the program in C++
	passes      int
	structs     []structRow
	structFile  string            // the same for Python
	tables      map[string]string // key: the kind
	out         string            // folder of what is written
}

// prepareConvert makes the program, the environment and the data.
func prepareConvert(ctx context.Context, s settings) (*converting, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	c := &converting{
		millrace: millrace{files: layout(dir, s.records), program: s.millrace},
		bare:     filepath.Join(dir, "write"), passes: s.passes, out: filepath.Join(dir, "written"),
	}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	if c.interpreter, err = environment(ctx, filepath.Join(dir, "venv-convert"), requirements, convertRequirements); err != nil {
		return nil, fmt.Errorf("virtual environment: %w", err)
	}
	if err := compileBare(ctx, c.bare, writeSource); err != nil {
		return nil, err
	}
	if err := c.makeStructs(s.records); err != nil {
		return nil, fmt.Errorf("make structs: %w", err)
	}
	if err := c.makeTables(ctx, s.tableMB); err != nil {
		return nil, fmt.Errorf("make tables: %w", err)
	}
	return c, nil
}

// compileBare compiles a program of plain C++ for this processor.
func compileBare(ctx context.Context, program, source string) error {
	if out, err := exec.CommandContext(ctx, "c++", "-O3", "-march=native", "-std=c++17", "-o", program, source).CombinedOutput(); err != nil {
		return fmt.Errorf("c++ %s: %w\n%s", source, err, out)
	}
	return nil
}

// run measures only writing.
func (c *converting) run(ctx context.Context, s settings, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Convert, err = c.measure(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-convert.json"), rounds); err != nil {
		return false, err
	}
	met := table(out, rounds, convertRows())
	last := rounds[len(rounds)-1].Convert
	fmt.Fprintf(out, "Python's fastest ways: %s", last.StructsPython.Way)
	for _, kind := range tableKinds {
		fmt.Fprintf(out, "; %s: %s", kind, last.Tables[kind].Python.Way)
	}
	fmt.Fprintln(out, ".")
	return met, nil
}

// measure takes one round. It is an error if two sides write different values.
func (c *converting) measure(ctx context.Context) (r convertRound, err error) {
	if err := os.MkdirAll(c.out, 0o777); err != nil {
		return r, err
	}
	defer os.RemoveAll(c.out)
	if err := c.measureStructs(ctx, &r); err != nil {
		return r, fmt.Errorf("structs: %w", err)
	}
	r.Tables = map[string]tableRound{}
	for _, kind := range tableKinds {
		if r.Tables[kind], err = c.measureTable(ctx, kind); err != nil {
			return r, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return r, nil
}

// measureStructs measures writing structs, on all sides the best of some passes. Plain
// C++ is measured before and after Millrace.
func (c *converting) measureStructs(ctx context.Context, r *convertRound) error {
	ours, theirs, plain := filepath.Join(c.out, "structs"), filepath.Join(c.out, "python.tfrecords"), filepath.Join(c.out, "plain.tfrecords")
	if err := c.writeStructs(ours); err != nil { // the first pass: plain C++ needs the records
		return err
	}
	shards, err := filepath.Glob(filepath.Join(ours, "*.tfrecords"))
	if err != nil || len(shards) != 1 {
		return fmt.Errorf("want one shard, got %v, %w", shards, err)
	}
	records := filepath.Join(c.out, "records")
	if err := os.Rename(shards[0], records); err != nil {
		return err
	}
	before, err := c.plain(ctx, records, plain)
	if err != nil {
		return err
	}
	for range c.passes {
		if err := os.RemoveAll(ours); err != nil {
			return err
		}
		begun := time.Now()
		if err := c.writeStructs(ours); err != nil {
			return err
		}
		r.Structs = max(r.Structs, float64(len(c.structs))/time.Since(begun).Seconds())
	}
	after, err := c.plain(ctx, records, plain)
	if err != nil {
		return err
	}
	r.StructsBare = bareRate{max(before.Memory, after.Memory), max(before.File, after.File)}
	if err := runJSON(ctx, &r.StructsPython, c.interpreter, convertScript, "write", c.structFile, theirs, strconv.Itoa(min(c.passes, 3))); err != nil {
		return err
	}
	return sameRecords(int64(len(c.structs)), shards[0], theirs, plain)
}

// plain measures plain C++.
func (c *converting) plain(ctx context.Context, records, out string) (b bareRate, err error) {
	err = runJSON(ctx, &b, c.bare, records, strconv.Itoa(c.passes), out)
	return b, err
}

// measureTable converts a table. Ours is the time of the whole process; Python's begins
// when its libraries are loaded.
func (c *converting) measureTable(ctx context.Context, kind string) (r tableRound, err error) {
	ours, theirs := filepath.Join(c.out, "table"), filepath.Join(c.out, "table.tfrecords")
	if err := readFileAnew(c.tables[kind]); err != nil {
		return r, err
	}
	begun := time.Now()
	var report struct {
		Rows int64 `json:"rows"`
	}
	if err := runJSON(ctx, &report, c.program, "convert", c.tables[kind], "--out", ours, "--json"); err != nil {
		return r, err
	}
	r.Seconds, r.Rows = time.Since(begun).Seconds(), report.Rows
	if err := runJSON(ctx, &r.Python, c.interpreter, convertScript, "convert", c.tables[kind], theirs); err != nil {
		return r, err
	}
	if err := sameRecords(r.Rows, filepath.Join(ours, "*.tfrecords"), theirs); err != nil {
		return r, err
	}
	return r, os.RemoveAll(ours)
}

// convertRows are the comparisons of writing.
func convertRows() []row {
	ours := func(r round) float64 { return r.Convert.Structs }
	rows := []row{
		{"write structs of 64 floats, against a loop over Examples", ours,
			func(r round) float64 { return r.Convert.StructsPython.RecordsPerS }, rate, target{atLeast: writeTarget}},
		{"the same, against plain C++ that copies, computes checksums and writes a file", ours,
			func(r round) float64 { return r.Convert.StructsBare.File }, rate, target{atLeast: writeBareTarget}},
		{"the same, against plain C++ that copies and computes checksums in memory", ours,
			func(r round) float64 { return r.Convert.StructsBare.Memory }, rate, target{atLeast: writeBareTarget}},
		{"the same, against a loop that makes each Example anew", ours,
			func(r round) float64 { return r.Convert.StructsPython.Anew }, rate, target{}},
	}
	for _, kind := range tableKinds {
		at := func(r round) tableRound { return r.Convert.Tables[kind] }
		ours := func(r round) float64 { return float64(at(r).Rows) / at(r).Seconds }
		rows = append(rows,
			row{"convert " + kind + ", against a loop over its rows", ours,
				func(r round) float64 { return float64(at(r).Python.Rows) / at(r).Python.Seconds }, rate, target{atLeast: convertTarget}},
			row{"the same, against a loop that makes each Example anew", ours,
				func(r round) float64 { return at(r).Python.Anew }, rate, target{}})
	}
	return rows
}
