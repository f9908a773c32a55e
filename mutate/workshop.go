package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"

	"millrace/internal/test/equivalent"
)

// options are the command's options.
type options struct {
	base       string             // a revision: only lines that differ from it are mutated
	sample     int                // mutants of a package, drawn at random; 0: all
	seed       uint64             // seed of that draw
	parallel   int                // test processes at a time
	memory     int                // memory limit of a test process, in MiB
	budget     time.Duration      // processor time for the tests of one mutant; 0: all its tests
	longest    time.Duration      // processor time that a test may take to count; 0: any
	least      float64            // percentage of mutants that must be found
	run        *regexp.Regexp     // names of tests that count; nil: all
	own        bool               // only a package's own tests count
	with       string             // a test of another folder that counts too: "cmd/millrace.TestCases"; "": none
	again      string             // log of an earlier run; only its survivors are mutated; "": all
	log        string             // file that gets a line for every mutant; "": none
	disprove   bool               // run only the mutants that are listed as equivalent
	equivalent []equivalent.Entry // mutants that no test can find
	packages   []string
}

// workshop is where the mutants of one run are made and run.
type workshop struct {
	options
	module string // folder of go.mod
	dir    string // temporary files
}

// output runs a command in the module's folder and returns what it prints.
func (w *workshop) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = w.module, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return out, nil
}

// say prints progress for the user.
func (w *workshop) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "mutate: "+format+"\n", args...)
}

// each calls f for 0 to n-1, in as many goroutines as tests may run at a time.
// It returns the first error.
func (w *workshop) each(ctx context.Context, n int, f func(i int) error) error {
	var group sync.WaitGroup
	var once sync.Once
	var first error
	next := make(chan int)
	for range max(w.parallel, 1) {
		group.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	group.Wait()
	return cmp.Or(first, ctx.Err())
}
