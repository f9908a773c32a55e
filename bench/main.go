// Command bench compares Millrace with TensorFlow's own Python on the same files, in
// one run, and prints ratios. It makes the files, a virtual environment with the same
// TensorFlow release and a small model under build/bench, then measures both sides in
// turn, round by round, each in a separate process. Figures depend on the machine, so
// the targets are for ratios.
//
//	go run ./bench            what "make bench" runs
//	go run ./bench -rounds 1  a quick look
//	go run ./bench -only training -rounds 1   training alone
//	go run ./bench -only keras -rounds 1      models of Keras, against Keras's step
//	go run ./bench -only serving -rounds 1    servers alone, in three minutes
//	go run ./bench -only goals -rounds 1      the goals of servers, in two minutes; -overload 10m for the long load
//	go run ./bench -only cluster -rounds 3    training by two processes against one, a processor each
//	go run ./bench -only queues -rounds 1     pipelines of queues alone
//	go run ./bench -only gzip -rounds 3       compressed files alone
//	go run ./bench -only records -rounds 3    records of several kinds alone
//	go run ./bench -only convert -rounds 1    writing and converting alone
//	go run ./bench -only sequences -rounds 3  windows and lists alone
//	go run ./bench -only sweep -rounds 3      every setting of the config, in a quarter of an hour
//	go run ./bench -only steps -rounds 3      processing steps of images, texts, sounds and tables
//	go run ./bench -only analyze -rounds 3    statistics of a gigabyte of records, in three minutes
//	go run ./bench -only checks -rounds 7     what the checks and the sandbox cost, in 4 minutes and two builds
//	go run ./bench -only remote -rounds 3     files of stores, in half a minute
//	go run ./bench -only chunks               chunked_sequence against RETURNN
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"
)

// Values of -only.
const (
	onlyTraining  = "training"
	onlyKeras     = "keras" // models of Keras
	onlyServing   = "serving"
	onlyQueues    = "queues"
	onlyGzip      = "gzip"
	onlyRecords   = "records"
	onlySequences = "sequences"
	onlyConvert   = "convert"
	onlyGoals     = "goals"   // nothing else measures them
	onlyCluster   = "cluster" // training by several processes; nothing else measures it
	onlySweep     = "sweep"   // every setting of the config; nothing else measures it
	onlySteps     = "steps"   // processing steps; nothing else measures them
	onlyAnalyze   = "analyze" // statistics of a gigabyte; nothing else measures them

	onlyRemote = "remote" // files of stores; nothing else measures it

	onlyEnvironment = "environment" // makes Python's environment and measures nothing
	onlyService     = "service"     // reading by a data service; nothing else measures it
	onlyChecks      = "checks"      // what checks cost; nothing else measures it
	onlyChunks      = "chunks"      // chunked_sequence against RETURNN; nothing else measures it
)

const pythonEnv = "MILLRACE_BENCH_PYTHON"

func main() {
	if os.Getenv(restrictEnv) != "" {
		if err := restrictSelf(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var s settings
	flag.StringVar(&s.dir, "dir", filepath.Join("build", "bench"), "folder for data, model, environment and results")
	flag.StringVar(&s.millrace, "millrace", "", "the millrace program (built from this tree by default)")
	flag.StringVar(&s.python, "python", os.Getenv(pythonEnv), "a Python with TensorFlow (a virtual environment by default); also $"+pythonEnv)
	flag.IntVar(&s.records, "records", 100_000, "records to read")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds to take the median of")
	flag.IntVar(&s.passes, "passes", 5, "number of warm passes in Python, of which the best counts, and of epochs in Millrace")
	flag.IntVar(&s.tableMB, "table-mb", 64, "size in MB of the CSV file to convert, and of the same table as Parquet")
	flag.BoolVar(&s.strict, "strict", false, "exit with 1 if a target is missed")
	flag.StringVar(&s.only, "only", "", `measure only "training", "keras", "serving", "goals", "cluster", "service", "queues", "gzip", "records", "sequences", "convert", "sweep", "steps", "analyze", "checks", "remote" or "chunks"`)
	flag.StringVar(&s.setting, "setting", "", "measure only settings of the sweep or of the steps with `TEXT` in their names")
	flag.DurationVar(&s.overload, "overload", 10*time.Second, "how long -only goals keeps a server at three times its load")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all := run
	switch s.only {
	case onlyChecks:
		all = runChecks
	case onlyService:
		all = runService
	}
	met, err := all(ctx, s, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if s.strict && !met {
		os.Exit(1)
	}
}

// run prepares, measures and reports. It returns whether every target is met.
func run(ctx context.Context, s settings, out io.Writer) (bool, error) {
	if err := s.validate(); err != nil {
		return false, err
	}
	switch s.only {
	case "", onlyTraining, onlyKeras, onlyServing, onlyGoals, onlyCluster, onlyQueues, onlyGzip, onlyRecords, onlySequences, onlySweep, onlySteps, onlyAnalyze:
	case onlyChunks:
		q, err := prepareSpeech(ctx, s)
		if err != nil {
			return false, err
		}
		return q.run(ctx, s, out)
	case onlyEnvironment:
		return true, makeEnvironment(ctx, s)
	case onlyRemote:
		return runRemote(ctx, s, out)
	case onlyConvert:
		c, err := prepareConvert(ctx, s)
		if err != nil {
			return false, err
		}
		return c.run(ctx, s, out)
	default:
		return false, unknownOnly(s.only)
	}
	ways, err := prepare(ctx, s)
	if err != nil {
		return false, err
	}
	switch s.only {
	case onlyKeras:
		return runKeras(ctx, s, ways, out)
	case onlyQueues:
		return runQueues(ctx, s, ways.python, out)
	case onlyGzip:
		z, err := prepareCompressed(ctx, ways, s)
		if err != nil {
			return false, err
		}
		return z.run(ctx, s, out)
	case onlySequences:
		q, err := prepareSequences(ctx, ways)
		if err != nil {
			return false, err
		}
		return q.run(ctx, s, out)
	case onlySweep:
		return runSweep(ctx, ways, everySetting, s, out)
	case onlySteps:
		return runSweep(ctx, ways, everyStep, s, out)
	case onlyAnalyze:
		return runAnalyze(ctx, ways, s.rounds, out)
	case onlyCluster:
		return prepareCluster(ctx, ways, s, out)
	case onlyGoals:
		return prepareGoals(ctx, ways, s, out)
	}
	return runTogether(ctx, s, ways, out)
}

// runSweep measures the settings of a table whose names have a text.
func runSweep(ctx context.Context, s sides, table sweepTable, o settings, out io.Writer) (bool, error) {
	w, err := prepareSweep(ctx, s, table, o.setting)
	if err != nil {
		return false, err
	}
	for range o.rounds {
		for _, r := range w.settings {
			if err := w.measure(ctx, r); err != nil {
				return false, fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	return w.report(out), nil
}

// runTogether measures the parts of the whole benchmark: all of them, or the one that -only
// names.
func runTogether(ctx context.Context, s settings, ways sides, out io.Writer) (bool, error) {
	k, err := prepareRecords(ctx, ways)
	if err != nil {
		return false, err
	}
	if s.only == onlyRecords {
		return k.run(ctx, s, out)
	}
	z, err := prepareCompressed(ctx, ways, s)
	if err != nil {
		return false, err
	}
	t, err := prepareTraining(ctx, ways)
	if err != nil {
		return false, err
	}
	if s.only == onlyTraining {
		return t.run(ctx, s, out)
	}
	v, err := prepareServing(ctx, t)
	if err != nil {
		return false, err
	}
	if s.only == onlyServing {
		return v.run(ctx, s, out)
	}
	c, err := prepareConvert(ctx, s)
	if err != nil {
		return false, err
	}
	return everything(ctx, s, &parts{t, v, z, k, c}, out)
}

// unknownOnly returns an error for an unknown value of -only.
func unknownOnly(only string) error {
	return fmt.Errorf("-only is %q, want %q, %q, %q, %q, %q, %q, %q, %q, %q, %q, %q, %q, %q, %q, %q, %q, %q or %q", only,
		onlyTraining, onlyKeras, onlyEnvironment, onlyServing, onlyGoals, onlyCluster, onlyService, onlyQueues, onlyGzip, onlyRecords, onlySequences, onlyConvert, onlySweep, onlySteps, onlyAnalyze, onlyChecks, onlyRemote, onlyChunks)
}

// makeEnvironment makes Python's environment, unless there is one.
func makeEnvironment(ctx context.Context, s settings) error {
	if s.python != "" {
		return nil
	}
	_, err := environment(ctx, filepath.Join(s.dir, "venv"), requirements)
	return err
}

// prepare makes whatever is missing and returns the two sides.
func prepare(ctx context.Context, s settings) (sides, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return sides{}, err
	}
	f := layout(dir, s.records)
	if err := f.make(s.records, s.passes); err != nil {
		return sides{}, fmt.Errorf("make data: %w", err)
	}
	p := python{files: f, program: s.python, extra: []string{
		"--batch", strconv.Itoa(batchSize), "--records", strconv.Itoa(s.records), "--passes", strconv.Itoa(s.passes)}}
	if err := p.prepare(ctx); err != nil {
		return sides{}, err
	}
	m := millrace{files: f, program: s.millrace}
	if err := m.prepare(ctx); err != nil {
		return sides{}, err
	}
	return sides{millrace: m, python: p}, nil
}
