// Command cxx finds small mistakes in the C++ of cgo/datasets that no C++ test would notice.
// It makes such mistakes, one at a time, and runs the tests that need no TensorFlow.
//
//	go run ./mutate/cxx -sample 40 -seed 7
//
// Each worker has a copy of cgo. There it changes one line, compiles what depends on it, runs
// all tests, and puts the line back. A mutant that does not compile counts neither way.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is how long the tests of a mutant may take before they count as failed. They take
// five seconds.
const patience = 2 * time.Minute

func main() {
	sample := flag.Int("sample", 40, "draw so many mutants; 0: all of them")
	seed := flag.Uint64("seed", 1, "the seed of that draw")
	workers := flag.Int("j", runtime.NumCPU(), "mutants at a time")
	least := flag.Float64("least", 0, "the `percentage` of mutants that tests must find, else exit with 1")
	flag.Parse()
	if err := run(*sample, *seed, *workers, *least); err != nil {
		fmt.Fprintln(os.Stderr, "cxx:", err)
		os.Exit(1)
	}
}

// run draws mutants, tries them, and prints those that no test finds.
func run(sample int, seed uint64, workers int, least float64) error {
	mutants, err := sources()
	if err != nil {
		return err
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	if sample > 0 && len(mutants) > sample {
		mutants = mutants[:sample]
	}
	todo := make(chan mutant, len(mutants))
	for _, m := range mutants {
		todo <- m
	}
	close(todo)
	var (
		wait         sync.WaitGroup
		mu           sync.Mutex
		found, tried int
		failed       error
	)
	for range workers {
		wait.Go(func() {
			err := work(todo, func(m mutant, fate fate) {
				mu.Lock()
				defer mu.Unlock()
				switch fate {
				case killed:
					found++
					tried++
				case survived:
					tried++
					fmt.Printf("%s:%d: %s\n\t- %s\n\t+ %s\n", m.file, m.line, m.kind, m.was, m.now)
				}
			})
			if err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if failed != nil {
		return failed
	}
	share := 100 * float64(found) / float64(max(tried, 1))
	fmt.Printf("\nfound by tests: %d of %d (%.0f%%), drawn with seed %d\n", found, tried, share, seed)
	if share < least {
		return fmt.Errorf("less than %g%%", least)
	}
	return nil
}

// sources returns the mutants of the sources that the tests link.
func sources() (all []mutant, err error) {
	tests, err := filepath.Glob("cgo/datasets/*_test.cc")
	if err != nil || tests == nil {
		return nil, fmt.Errorf("no tests in cgo/datasets: run this in the top directory (%w)", err)
	}
	out, err := exec.Command("make", "-s", "-f", makefile, "sources").Output()
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(out)) {
		file := "cgo/datasets/" + name + ".cc"
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, mutate(file, string(text))...)
	}
	return all, nil
}

const makefile = "cgo/datasets/tests.mk"

// fate is what became of a mutant.
type fate int

const (
	refused fate = iota // it does not compile
	killed
	survived
)

// work tries mutants in a copy of cgo.
func work(todo <-chan mutant, report func(mutant, fate)) error {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(filepath.Join(dir, "cgo"), os.DirFS("cgo")); err != nil {
		return err
	}
	if out, err := call(dir, "run", 15*time.Minute); err != nil { // compiles everything
		return fmt.Errorf("the tests fail without a mistake: %w\n%s", err, out)
	}
	for m := range todo {
		file := filepath.Join(dir, m.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(m.apply(string(text))), 0o644); err != nil {
			return err
		}
		fate := refused
		if _, err := call(dir, "program", patience); err == nil {
			fate = survived
			if _, err := call(dir, "run", patience); err != nil {
				fate = killed
			}
		}
		report(m, fate)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// call runs make for a target in a copy, with a limit of memory and of time.
func call(dir, target string, longest time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `ulimit -v 6000000 && exec make -s -f "$0" VARIANT=plain "$1"`, makefile, target)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.CombinedOutput()
}
