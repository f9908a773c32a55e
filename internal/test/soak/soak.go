// Package soak lets a test run briefly in "go test" and for long in "make
// soak".
package soak

import "os"

// Env is the environment variable that makes tests run long when it is not
// empty. The program internal/test/soakrun sets it, for the tests that call
// this package.
const Env = "MILLRACE_SOAK"

// Long reports whether tests run long.
func Long() bool { return os.Getenv(Env) != "" }

// Rounds returns the number of rounds of a test: brief in "go test", long in
// "make soak". The brief count must be enough to find the fault that the test
// is for, if not its rarest form.
func Rounds(brief, long int) int {
	if Long() {
		return long
	}
	return brief
}
