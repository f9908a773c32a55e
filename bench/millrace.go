package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"millrace/sandbox"
)

// millrace is our side.
type millrace struct {
	files
	program string
}

// prepare builds the program unless one was named.
func (m *millrace) prepare(ctx context.Context) error {
	if m.program != "" {
		return nil
	}
	m.program = filepath.Join(m.dir, "millrace")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", m.program, "./cmd/millrace")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build millrace: %w", err)
	}
	return nil
}

// bench runs "millrace bench" over a config.
func (m *millrace) bench(ctx context.Context, config string, args ...string) (f figures, err error) {
	err = runJSON(ctx, &f, m.program, append([]string{"bench", config, "--json"}, args...)...)
	return f, err
}

// What the checks of models and requests and the sandbox cost: the program of this tree and
// the one of a commit before there were any, in turns, and how long it takes to confine a
// process. Nothing here needs Python. A round takes half a minute.

// uncheckedCommit is the last commit before the checks.
const uncheckedCommit = "a289ddc"

const (
	checkedModel = "testdata/models/linear"
	checkedBody  = `{"instances": [[1, 2, 3]]}`
	checkedReads = 20 // epochs
)

// restrictEnv is set in the process that confines itself.
const restrictEnv = "MILLRACE_BENCH_RESTRICT"

// checkedFigure is a figure; more is better.
type checkedFigure struct {
	name    string
	measure func(ctx context.Context, program string) (float64, error)
}

// runChecks measures and reports what the checks cost.
func runChecks(ctx context.Context, s settings, out io.Writer) (bool, error) {
	if err := s.validate(); err != nil {
		return false, err
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return false, err
	}
	f := layout(dir, s.records)
	now, err := buildOf(ctx, filepath.Join(dir, "millrace"), ".")
	if err != nil {
		return false, err
	}
	before, err := buildBefore(ctx, dir)
	if err != nil {
		return false, err
	}
	if err := f.make(s.records, checkedReads); err != nil {
		return false, err
	}
	figures := []checkedFigure{
		{"reading, records/s", func(ctx context.Context, program string) (float64, error) { return readsPerS(ctx, program, f.read) }},
		{"serving, one client, requests/s", func(ctx context.Context, program string) (float64, error) { return requestsPerS(ctx, program, 1) }},
		{"serving, 32 clients, requests/s", func(ctx context.Context, program string) (float64, error) { return requestsPerS(ctx, program, 32) }},
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tthis tree\t%s\tratio\ttarget\t\n", uncheckedCommit)
	met := true
	for _, x := range figures {
		ok, err := x.compare(ctx, w, s.rounds, now, before)
		if err != nil {
			return false, fmt.Errorf("%s: %w", x.name, err)
		}
		met = met && ok
	}
	took, err := restrictTime(ctx, s.rounds)
	if err != nil {
		return false, err
	}
	const most = 5 * time.Millisecond
	fmt.Fprintf(w, "confining a process\t%v\t\t\t<= %v\t%s\n", took.Round(time.Microsecond), most, target{limit: 1}.verdict(took <= most))
	w.Flush()
	fmt.Fprintf(out, "\nMedians of %d rounds, the two programs in turns.\n", s.rounds)
	return met && took <= most, ctx.Err()
}

// compare measures two programs in turns and prints the medians. It returns whether the
// first is at most 2% slower.
func (x checkedFigure) compare(ctx context.Context, out io.Writer, rounds int, now, before string) (bool, error) {
	figures, ratios := map[string][]float64{}, []float64(nil)
	for i := range rounds {
		order := []string{now, before}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		last := map[string]float64{}
		for _, program := range order {
			v, err := x.measure(ctx, program)
			if err != nil {
				return false, err
			}
			last[program] = v
			figures[program] = append(figures[program], v)
		}
		ratios = append(ratios, last[now]/last[before])
	}
	t := target{atLeast: 0.98}
	ratio := median(ratios)
	fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.3f\t%s\t%s\n", x.name, median(figures[now]), median(figures[before]), ratio, t, t.verdict(t.met(0, ratio)))
	return t.met(0, ratio), nil
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// buildOf builds the program of a source tree and its operations.
func buildOf(ctx context.Context, program, tree string) (string, error) {
	for _, args := range [][]string{{"go", "build", "-buildvcs=false", "-o", program, "./cmd/millrace"}, {program, "runtime", "native"}} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = tree, os.Stderr, os.Stderr
		cmd.Env = append(cmd.Environ(), "GOWORK=off") // the workspace of this tree does not know another one in it
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%v in %s: %w", args, tree, err)
		}
	}
	return program, nil
}

// buildBefore builds the program without checks, from the repository's history.
func buildBefore(ctx context.Context, dir string) (string, error) {
	tree := filepath.Join(dir, uncheckedCommit)
	if _, err := os.Stat(tree); err != nil {
		if err := os.MkdirAll(tree, 0o777); err != nil {
			return "", err
		}
		cmd := exec.CommandContext(ctx, "sh", "-c", `git archive "$1" | tar -x -C "$2"`, "sh", uncheckedCommit, tree)
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", errors.Join(fmt.Errorf("get commit %s: %w\n%s", uncheckedCommit, err, said), os.RemoveAll(tree))
		}
	}
	return buildOf(ctx, filepath.Join(dir, "millrace-"+uncheckedCommit), tree)
}

// readsPerS returns the speed of "millrace bench".
func readsPerS(ctx context.Context, program, config string) (float64, error) {
	m := millrace{program: program}
	f, err := m.bench(ctx, config)
	return f.RecordsPerS, err
}

// requestsPerS returns how many requests a server answers.
func requestsPerS(ctx context.Context, program string, clients int) (float64, error) {
	at, err := startMillrace(ctx, program, "--model", "m="+checkedModel)
	if err != nil {
		return 0, err
	}
	s := &serving{bodies: [][]byte{[]byte(checkedBody)}}
	l := saturation
	l.connections = clients
	got, err := s.load(ctx, at, l)
	return got.RequestsPerS, errors.Join(err, at.stop())
}

// restrictTime returns the median time to confine a process, each time a new one.
func restrictTime(ctx context.Context, rounds int) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	var all []float64
	for range 10 * rounds {
		cmd := exec.CommandContext(ctx, self)
		cmd.Env = append(os.Environ(), restrictEnv+"=1")
		said, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("confine a process: %w: %s", err, said)
		}
		n, err := strconv.ParseInt(string(said), 10, 64)
		if err != nil {
			return 0, err
		}
		all = append(all, float64(n))
	}
	return time.Duration(median(all)), nil
}

// restrictSelf confines this process as a command that runs a model does, and prints how
// long that took in nanoseconds.
func restrictSelf() error {
	temp, err := sandbox.NewTemp()
	if err != nil {
		return err
	}
	defer temp.Close()
	began := time.Now()
	p, err := sandbox.Restrict(&sandbox.Policy{Read: []string{"testdata", "/usr"}, Write: []string{os.DevNull}, Temp: temp}, sandbox.Auto)
	took := time.Since(began)
	if err != nil {
		return err
	}
	if !p.Whole() {
		return fmt.Errorf("this kernel confines only: %s", p)
	}
	fmt.Print(took.Nanoseconds())
	return nil
}
