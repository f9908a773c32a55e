//go:build !linux

package killstep

import (
	"os/exec"
	"testing"
)

// Child does nothing: other systems cannot stop a program at its system calls.
func Child() {}

// Run skips the test.
func Run(t testing.TB, _ *exec.Cmd, _ int) bool {
	t.Skip("SKIPPED: only Linux can stop a program at its system calls")
	return true
}
