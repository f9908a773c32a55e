// Soakrun runs the tests that take too long for "make test", one after the
// other: the tests that call package internal/test/soak with their long counts,
// and then each fuzz target for an equal share of the time that is left.
//
//	go run ./internal/test/soakrun -for 1h
//
// It reports each test when it ends, goes on after a failure, and exits with 1
// if a test failed.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"millrace/internal/test/soak"
)

// leastFuzzing is the shortest time for a fuzz target, even if no time is left.
const leastFuzzing = 10 * time.Second

func main() {
	total := flag.Duration("for", time.Hour, "total time; the tests with long counts always run to their end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, *total)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed > 0 {
		fmt.Printf("%d failed\n", failed)
		os.Exit(1)
	}
}

// run runs all tests and returns the number of failures.
func run(ctx context.Context, total time.Duration) (failed int, err error) {
	began := time.Now()
	tests, targets, err := find(".")
	if err != nil {
		return 0, err
	}
	if len(tests) == 0 || len(targets) == 0 {
		return 0, fmt.Errorf("found %d long tests and %d fuzz targets here; start this in the repository's top folder", len(tests), len(targets))
	}
	for _, t := range tests {
		failed += report(ctx, t.String(), "test", "-count=1", "-timeout=0", "-run", "^"+t.name+"$", t.dir)
	}
	for i, t := range targets {
		share := (total - time.Since(began)) / time.Duration(len(targets)-i)
		share = max(share, leastFuzzing).Truncate(time.Second)
		failed += report(ctx, t.String(), "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", share.String(), t.dir)
	}
	return failed, ctx.Err()
}

// report runs the go command and prints its result. It returns 1 if the command
// failed, otherwise 0.
func report(ctx context.Context, name string, args ...string) (failed int) {
	if ctx.Err() != nil {
		return 0
	}
	began := time.Now()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), soak.Env+"=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	took := time.Since(began).Round(time.Second)
	if err == nil {
		fmt.Printf("ok    %8s  %s\n", took, name)
		return 0
	}
	fmt.Printf("FAIL  %8s  %s: %v\n%s", took, name, err, &out)
	return 1
}
