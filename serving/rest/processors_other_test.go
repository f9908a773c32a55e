//go:build !linux

package rest

import (
	"os/exec"
	"testing"
)

// startApart starts a process, which shares the processors with this one.
func startApart(t *testing.T, c *exec.Cmd) (apart bool) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return false
}
