package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// together is the time of the tests that run in the first process for a mutant.
// Starting a process costs half a second with TensorFlow, and the first failure ends
// the run of a mutant. A mutant that survives one process is likely to survive the
// next, so each later process runs twice as much, up to atMost.
const (
	together = 5 * time.Second
	atMost   = 20 * time.Second
)

// runAll runs the tests that reach each mutant until one fails.
func (w *workshop) runAll(ctx context.Context, packages []*loaded) ([]*mutant, error) {
	var all []*mutant
	for _, p := range packages {
		all = append(all, p.mutants...)
	}
	log, err := w.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var lock sync.Mutex
	done := 0
	k := &killers{kills: map[kill]int{}}
	err = w.each(ctx, len(all), func(i int) error {
		var err error
		if all[i].equivalent == nil || w.disprove {
			err = w.runOne(ctx, all[i], k)
		}
		lock.Lock()
		defer lock.Unlock()
		if done++; done%50 == 0 {
			w.say("ran %d of %d", done, len(all))
		}
		if err == nil {
			_, err = fmt.Fprintln(log, all[i])
		}
		return err
	})
	return all, err
}

// runOne runs the tests that reach a mutant until one fails, or until they have used
// the budget. The time that they use here counts, not the time of each alone: alone,
// each test opens TensorFlow for itself.
func (w *workshop) runOne(ctx context.Context, m *mutant, k *killers) error {
	used, most := time.Duration(0), together
	for rest := k.order(m); len(rest) > 0; most = min(2*most, atMost) {
		if w.budget > 0 && used > w.budget {
			return nil
		}
		n, sum := 1, rest[0].took
		for n < len(rest) && rest[n].goesWith(rest[0]) && sum+rest[n].took < most {
			sum += rest[n].took
			n++
		}
		killer, cost, err := w.run(ctx, m, rest[:n], limitOf(sum))
		if err != nil {
			return err
		}
		if killer != "" {
			m.killer = killer
			k.note(m)
			return nil
		}
		used += cost
		rest = rest[n:]
	}
	return nil
}

// run runs tests of one program with a mutant on, and returns what failed, "" if
// nothing did, and the processor time of the last attempt. Tests that run out of time
// fail unless the machine was busy: then they run again, with more time.
func (w *workshop) run(ctx context.Context, m *mutant, tests []*test, limit time.Duration) (killer string, used time.Duration, err error) {
	for range patience {
		out, v, cost, err := w.attempt(ctx, m.id, tests, limit)
		switch {
		case err != nil:
			return "", cost, err
		case v == passed:
			return "", cost, nil
		case v == failed:
			return tests[0].ImportPath + "." + failing(out, tests), cost, nil
		}
		busy, err := w.busy(ctx, tests, limit)
		if err != nil || !busy {
			return tests[0].ImportPath + "." + failing(nil, tests) + ", out of time", cost, err
		}
		limit *= 2
		used = cost
	}
	return "", used, nil // unknown
}

// goesWith reports whether two tests can run in one process alone.
func (t *test) goesWith(other *test) bool {
	return t.program == other.program && t.parent() == other.parent()
}

// failing returns which of tests failed, as far as the output says.
func failing(out []byte, tests []*test) string {
	if len(tests) == 1 {
		return tests[0].name
	}
	for line := range strings.Lines(string(out)) {
		name, _ := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: ")
		name, _, _ = strings.Cut(name, " ")
		if slices.ContainsFunc(tests, func(t *test) bool { return t.name == name }) {
			return name
		}
	}
	return "(end of the process)"
}

// openLog opens the file for a line about every mutant.
func (w *workshop) openLog() (*os.File, error) {
	if w.log == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.OpenFile(w.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
}
