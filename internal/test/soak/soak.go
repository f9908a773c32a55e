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

// Repeat yields as many rounds as [Rounds] returns, or fewer, but not fewer than brief,
// where the environment limits the time: a test that draws at random finds more, the
// longer it runs, and no count of rounds means anything. The test repeats as many such
// parts as given, and each gets as much of the time.
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
