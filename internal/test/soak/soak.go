// Package soak lets a test run briefly in "go test" and for long in "make
// soak".
package soak

import (
	"iter"
	"os"
	"time"
)

// Env is the environment variable that makes tests run long when it is not empty. A
// duration, for example 60s, limits tests that run for a time. The program
// internal/test/soakrun sets it, for the tests that call this package.
const Env = "MILLRACE_SOAK"

// Long reports whether tests run long.
func Long() bool { return os.Getenv(Env) != "" }

// Rounds returns the number of rounds of a test: brief in "go test", long in "make
// soak". The brief count must be enough to find common forms of the fault that the test
// is for.
func Rounds(brief, long int) int {
	if Long() {
		return long
	}
	return brief
}

// Repeat yields rounds, as many as [Rounds] returns. Where the environment limits the time, it ends
// earlier, but not before brief rounds. It is for tests that draw at random: they find more the
// longer they run, and the number of rounds means nothing. parts is how often a test calls Repeat;
// each call gets an equal part of the time.
func Repeat(brief, long, parts int) iter.Seq[int] {
	return func(yield func(int) bool) {
		limit, err := time.ParseDuration(os.Getenv(Env))
		began := time.Now()
		for i := range Rounds(brief, long) {
			if i >= brief && err == nil && time.Since(began) > limit/time.Duration(parts) || !yield(i) {
				return
			}
		}
	}
}

// Duration returns the duration of a test that runs for a time: the one in the
// environment, or long.
func Duration(long time.Duration) time.Duration {
	if d, err := time.ParseDuration(os.Getenv(Env)); err == nil {
		return d
	}
	return long
}
