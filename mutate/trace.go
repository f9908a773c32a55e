package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// tracer runs the tests of a workshop before anything is mutated.
type tracer struct{ *workshop }

// trace runs each test alone, and notes which mutants it reaches. Opening TensorFlow
// for each test takes half a second, but with several tests in one process each test
// would seem to reach the mutants of all.
func (w *tracer) trace(ctx context.Context, programs []*program, packages []*loaded) error {
	mutants := map[int]*mutant{}
	for _, p := range packages {
		for _, m := range p.mutants {
			mutants[m.id] = m
		}
	}
	var tests []*test
	for _, p := range programs {
		more, err := w.testsIn(ctx, p)
		if err != nil {
			return err
		}
		tests = append(tests, more...)
	}
	w.say("trace %d tests", len(tests))
	var lock sync.Mutex
	return w.each(ctx, len(tests), func(i int) error {
		reached, err := w.traceOne(ctx, tests[i])
		lock.Lock()
		defer lock.Unlock()
		for _, id := range reached {
			mutants[id].tests = append(mutants[id].tests, tests[i])
		}
		return err
	})
}

// testsIn returns the tests of a program that count.
func (w *tracer) testsIn(ctx context.Context, p *program) (tests []*test, err error) {
	if p.only != "" {
		return w.subtestsIn(ctx, p)
	}
	names, err := w.start(ctx, p, "-test.list", "^(Test|Example|Fuzz)").output()
	for _, name := range strings.Fields(string(names)) {
		if w.options.run != nil && !w.options.run.MatchString(name) {
			continue
		}
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
			tests = append(tests, &test{program: p, name: name})
		}
	}
	return tests, err
}

// subtestsIn returns the subtests of the only test that counts.
func (w *tracer) subtestsIn(ctx context.Context, p *program) (tests []*test, err error) {
	out, err := w.start(ctx, p, "-test.run", "^"+p.only+"$", "-test.v", "-test.timeout", "20m").output()
	for line := range strings.Lines(string(out)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- PASS: "+p.only+"/")
		if name, _, _ = strings.Cut(name, " "); ok {
			tests = append(tests, &test{program: p, name: p.only + "/" + name})
		}
	}
	return tests, err
}

// traceOne returns the mutants that a test reaches. For a test that fails without a
// mutant it returns none.
func (w *tracer) traceOne(ctx context.Context, t *test) (reached []int, err error) {
	file, err := os.CreateTemp(w.dir, "trace")
	if err != nil {
		return nil, err
	}
	file.Close()
	p := w.startFor(ctx, t.program, w.longest, "-test.run", pattern([]*test{t}), "-test.timeout", "20m")
	p.Env = append(p.Env, "MILLRACE_MUTANT_TRACE="+file.Name())
	out, err := p.output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if p.used() >= w.longest && w.longest > 0 {
			w.say("%v needs more than %v, and is left out", t, w.longest)
		} else {
			w.say("%v fails without a mutant, and is left out:\n%s", t, lastLines(out, 20))
		}
		return nil, nil
	}
	t.took = p.used()
	text, err := os.ReadFile(file.Name())
	for _, word := range strings.Fields(string(text)) {
		id, _ := strconv.Atoi(word)
		reached = append(reached, id)
	}
	slices.Sort(reached) // processes that a test starts write the same file
	return slices.Compact(reached), err
}

// pattern returns the -run pattern that selects tests of one parent.
func pattern(tests []*test) string {
	var names []string
	for _, t := range tests {
		names = append(names, regexp.QuoteMeta(strings.TrimPrefix(t.name, t.parent()+"/")))
	}
	all := "^(" + strings.Join(names, "|") + ")$"
	if parent := tests[0].parent(); parent != "" {
		return "^" + parent + "$/" + all
	}
	return all
}

func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
