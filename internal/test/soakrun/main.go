// Soakrun runs tests that take too long for "make test", one after the other:
//
//   - the tests that call package internal/test/soak, with their long counts; those that
//     draw at random end earlier after a twentieth of the time;
//   - the attack drivers of the Makefile, which compare our readers with
//     TensorFlow's on damaged records and models, round after round, each for a
//     quarter of the time that is left;
//   - each fuzz target, for an equal share of the rest.
//
// Type in the repository's top folder:
//
//	go run ./internal/test/soakrun -for 1h
//
// It reports each part when it ends, continues after a failure, and exits with 1 if any
// part failed. With -run it runs only the parts whose names match. With -progress FILE it
// skips what has passed according to FILE, and adds what passes now: type the same
// command again after an interruption or a mended failure. The skipped parts' time counts
// as spent.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"millrace/internal/test/soak"
)

// partsOfTime says how long a test that draws at random may run, beyond its brief count: this
// part of the total time.
const partsOfTime = 20

// leastFuzzing is the shortest time for a fuzz target, even if no time is left.
const leastFuzzing = 10 * time.Second

func main() {
	total := flag.Duration("for", time.Hour, "total time; tests with long counts run to their end, those that draw at random for a twentieth of the time")
	only := flag.String("run", "", "run only what has a name that matches this `REGEXP`")
	path := flag.String("progress", "", "skip the parts that `FILE` says have passed, and add to it")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	passed, err := openProgress(*path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	failed, err := run(ctx, *total, chosen, passed)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed > 0 {
		fmt.Printf("%d failed\n", failed)
		os.Exit(1)
	}
}

// run runs the selected parts that have not passed, and returns the number of failures.
func run(ctx context.Context, total time.Duration, chosen *regexp.Regexp, passed *progress) (failed int, err error) {
	end := time.Now().Add(total - passed.spent)
	tests, targets, err := find(".")
	if err != nil {
		return 0, err
	}
	if len(tests) == 0 || len(targets) == 0 {
		return 0, fmt.Errorf("found %d long tests and %d fuzz targets here; start this in the repository's top folder", len(tests), len(targets))
	}
	left := func(name string) bool { return chosen.MatchString(name) && !passed.has(name) }
	tests = slices.DeleteFunc(tests, func(t testFunc) bool { return !left(t.String()) })
	targets = slices.DeleteFunc(targets, func(t testFunc) bool { return !left(t.String()) })
	drivers := slices.DeleteFunc(attackDrivers(), func(d driver) bool { return !left(d.target) })
	done := func(name string, run func() int) {
		began := time.Now()
		bad := run()
		failed += bad
		if bad == 0 && ctx.Err() == nil {
			err = cmp.Or(err, passed.add(name, time.Since(began)))
		}
	}
	part := total / partsOfTime
	for _, t := range tests {
		done(t.String(), func() int {
			return report(ctx, part, t.String(), "go", "test", "-count=1", "-timeout=0", "-run", "^"+t.name+"$", t.dir)
		})
	}
	quarter := max(time.Until(end)/4, 0)
	for _, d := range drivers {
		done(d.target, func() int { return d.run(ctx, quarter) })
	}
	for i, t := range targets {
		share := time.Until(end) / time.Duration(len(targets)-i)
		share = max(share, leastFuzzing).Truncate(time.Second)
		done(t.String(), func() int {
			return report(ctx, share, t.String(), "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", share.String(), t.dir)
		})
	}
	return failed, cmp.Or(err, ctx.Err())
}

// report runs a command and prints its result. Tests of the command that draw at random do so for
// the given time at most. It returns 1 if the command failed, otherwise 0.
func report(ctx context.Context, most time.Duration, name string, command ...string) (failed int) {
	if ctx.Err() != nil {
		return 0
	}
	began := time.Now()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), soak.Env+"="+most.String())
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
