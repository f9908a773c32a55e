package main

import (
	"cmp"
	"context"
	"strconv"
	"time"
)

// verdict is how an attempt to run tests ended.
type verdict int

const (
	passed verdict = iota
	failed
	outOfTime
)

// patience is how often tests are repeated that run out of time on a busy machine.
const patience = 3

// limitOf returns how long tests may run that took the given time without a mutant. It
// makes no allowance for a busy machine; run does.
func limitOf(took time.Duration) time.Duration { return 20*time.Second + 5*took }

// attempt runs tests of one program with a mutant switched on; 0 is no mutant. It
// returns the tests' output, how they ended, and the processor time that they used.
func (w *workshop) attempt(ctx context.Context, id int, tests []*test, limit time.Duration) (out []byte, v verdict, used time.Duration, err error) {
	p := w.start(ctx, tests[0].program, "-test.run", pattern(tests), "-test.failfast", "-test.timeout", limit.String())
	p.Env = append(p.Env, "MILLRACE_MUTANT="+strconv.Itoa(id))
	// At the limit the program ends itself, unless it hangs in C.
	late := time.AfterFunc(limit+30*time.Second, func() {
		if p.Process != nil {
			_ = p.Cancel()
		}
	})
	defer late.Stop()
	began := time.Now()
	out, err = p.output()
	if ctx.Err() != nil || p.ProcessState == nil {
		return nil, failed, 0, cmp.Or(ctx.Err(), err)
	}
	switch {
	case p.ProcessState.Success():
		v = passed
	case time.Since(began) >= limit:
		v = outOfTime
	default:
		v = failed
	}
	return out, v, p.used(), nil
}

// busy reports whether a busy machine may be the reason why tests ran out of time with
// a mutant: now they take more than a quarter of that time even without the mutant.
func (w *workshop) busy(ctx context.Context, tests []*test, limit time.Duration) (bool, error) {
	began := time.Now()
	_, v, _, err := w.attempt(ctx, 0, tests, limit)
	return v != passed || time.Since(began) > limit/4, err
}
