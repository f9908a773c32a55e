package main

import (
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

// patience is how often tests run that run out of time on a busy machine.
const patience = 3

// limitOf returns how long tests may run that took so much without a mutant.
func limitOf(took time.Duration) time.Duration { return 30*time.Second + 20*took }

// attempt runs tests of one program with a mutant on; 0 is none.
func (w *workshop) attempt(ctx context.Context, id int, tests []*test, limit time.Duration) (out []byte, v verdict, err error) {
	p := w.start(ctx, tests[0].program, "-test.run", pattern(tests), "-test.failfast", "-test.timeout", limit.String())
	p.Env = append(p.Env, "MILLRACE_MUTANT="+strconv.Itoa(id))
	// The program ends itself at the limit, unless it hangs in C.
	late := time.AfterFunc(limit+30*time.Second, func() {
		if p.Process != nil {
			_ = p.Cancel()
		}
	})
	defer late.Stop()
	began := time.Now()
	out, err = p.output()
	switch {
	case ctx.Err() != nil:
		return nil, failed, ctx.Err()
	case p.ProcessState == nil:
		return nil, failed, err
	case p.ProcessState.Success():
		return out, passed, nil
	case time.Since(began) >= limit:
		return out, outOfTime, nil
	}
	return out, failed, nil
}

// busy reports whether a busy machine may be why tests ran out of time with a
// mutant: without one they take more than a quarter of that time now.
func (w *workshop) busy(ctx context.Context, tests []*test, limit time.Duration) (bool, error) {
	began := time.Now()
	_, v, err := w.attempt(ctx, 0, tests, limit)
	return v != passed || time.Since(began) > limit/4, err
}
