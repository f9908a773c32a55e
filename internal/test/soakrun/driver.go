package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// A driver is a target of the Makefile that makes N attacks from a SEED.
type driver struct {
	target string
	round  int // number of attacks in a round, at most a minute of work
}

// attackDrivers returns the drivers that the soak runs.
func attackDrivers() []driver {
	return []driver{{"fuzz-decoder", 500_000}, {"fuzz-models", 5_000}}
}

// run runs at least one round of attacks, and further rounds until the time is over,
// each with another seed. It stops after a failure, and returns 1. The report names the
// seed, which reproduces the failure.
func (d driver) run(ctx context.Context, total time.Duration) (failed int) {
	for end := time.Now().Add(total); failed == 0; {
		seed := rand.Uint32()
		name := fmt.Sprintf("%s N=%d SEED=%d", d.target, d.round, seed)
		failed = report(ctx, total, name, "make", d.target, fmt.Sprint("N=", d.round), fmt.Sprint("SEED=", seed))
		if ctx.Err() != nil || time.Now().After(end) {
			break
		}
	}
	return failed
}
