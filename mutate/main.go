// Mutate finds small mistakes in the code that no test would notice. It makes such
// mistakes, one at a time, and runs the tests that reach the changed code. A mistake
// that no test fails for is printed with its place.
//
//	go run ./mutate -base main          # in the lines that differ from a revision
//	go run ./mutate ./tfrecord/...      # in whole packages
//	go run ./mutate -sample 100 -seed 7 -log FILE ./loaders/...
//	go run ./mutate -again FILE ./loaders/...   # what survived then
//
// # How it works
//
// The plain way is to change a line, compile, link and test, once for each
// mutant. Here a test program over TensorFlow takes 10 seconds to compile and
// link, and half a second to run the tests that matter. So all mutants are
// compiled at once, each behind a switch, and the environment of the test
// process turns one of them on:
//
//	for i := 0; i < n; i++ {                    // as written
//	for i := mutantNumber[int](1, 0); (mutantOn(2) != mutantLess(3, i, n)); i++ {
//
//	1. load.go    list the packages and check their types
//	2. find.go    find the places to change (mutators.go), and write switches
//	              there (edit.go)
//	3. build.go   compile each test program with the changed files laid over the
//	              tree, which stays as it is
//	4. trace.go   run each test alone, noting which switches it asks
//	5. run.go     turn on one mutant after the other, and run the tests that
//	              asked for it until one fails: first those that found other
//	              mutants of the file, then the quick ones (order.go)
//
// A switch takes no line of its own, so lines in messages are those of the source. A
// line that does not compile with its switches gets none.
//
// The tests of a package are its own tests and those of the packages in the same top
// folder that depend on it: package loaders tests loaders/build. Option -with names a
// test elsewhere whose cases count, too.
//
// Some mutants change nothing that a caller can notice. The list in folder
// equivalent holds them with the reason. They are reported, and not counted.
//
// A test that takes more memory than -memory counts as failed, and so does one that
// hangs while the same test without the mutant ends soon.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"

	"millrace/internal/test/equivalent"
)

func main() {
	var o options
	flag.StringVar(&o.base, "base", "", "mutate only the lines that differ from this `revision`")
	flag.IntVar(&o.sample, "sample", 0, "draw so many mutants of each package; 0: all of them")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed of that draw")
	flag.IntVar(&o.parallel, "j", runtime.NumCPU(), "test processes at a time")
	flag.IntVar(&o.memory, "memory", 6<<10, "`MiB` of memory that a test process may use")
	flag.DurationVar(&o.budget, "budget", 0, "processor time for the tests of one mutant; one that outlives them survives; 0: all tests")
	flag.DurationVar(&o.longest, "longest", 0, "processor time of a test, alone; those that need more do not count; 0: all do")
	flag.Float64Var(&o.least, "least", 0, "the `percentage` of mutants that tests must find in each package, else exit with 1")
	flag.BoolVar(&o.own, "own", false, "only a package's own tests count, which takes less time")
	flag.Func("run", "only tests that match this `regexp` count, for a first look", func(s string) (err error) {
		o.run, err = regexp.Compile(s)
		return err
	})
	flag.StringVar(&o.with, "with", "", "a `test` of another folder whose subtests count, too: cmd/millrace.TestCases")
	flag.StringVar(&o.again, "again", "", "mutate only what survived according to this `log` of an earlier run")
	flag.StringVar(&o.log, "log", "", "append a line for every mutant to this `file`")
	flag.BoolVar(&o.disprove, "disprove", false, "mutate only what the list of equivalent mutants has, and exit with 1 if a test finds one")
	flag.Parse()
	o.packages = flag.Args()
	var err error
	if o.equivalent, err = equivalent.List(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

// run mutates the module in a folder, and prints what survives.
func run(ctx context.Context, module string, o options) error {
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	w := &workshop{module: module, dir: work, options: o}
	results, err := w.results(ctx)
	if err != nil {
		return err
	}
	if err := report(os.Stdout, results, o); err != nil {
		return err
	}
	if o.disprove {
		return disproved(results)
	}
	return enough(results, o.least)
}

// mutate makes and draws the mutants of packages.
func (w *workshop) mutate(packages []*loaded, lines changes) error {
	var again []survivor
	if w.again != "" {
		var err error
		if again, err = survivors(w.again); err != nil {
			return err
		}
	}
	ids := 0
	for _, p := range packages {
		if err := p.mutate(lines, &ids); err != nil {
			return err
		}
		if err := p.setAside(w.equivalent); err != nil && lines == nil {
			return err
		}
		if w.disprove {
			p.keepEquivalent()
		}
		if w.again != "" {
			p.keep(again)
		}
		p.draw(w.sample, w.seed)
	}
	return nil
}

// results makes, draws and runs the mutants.
func (w *workshop) results(ctx context.Context) ([]*mutant, error) {
	lines, err := changedLines(ctx, w)
	if err != nil {
		return nil, err
	}
	packages, err := (&loader{w}).load(ctx, lines)
	if err != nil || len(packages) == 0 {
		return nil, err
	}
	if err := w.mutate(packages, lines); err != nil {
		return nil, err
	}
	programs, err := w.build(ctx, packages)
	if err != nil {
		return nil, err
	}
	if err := (&tracer{w}).trace(ctx, programs, packages); err != nil {
		return nil, err
	}
	return w.runAll(ctx, packages)
}
