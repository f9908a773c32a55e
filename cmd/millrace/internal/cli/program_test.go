package cli

import (
	"os"
	"slices"
	"testing"

	"millrace/sandbox"
)

// The environment does not change after Warm, because TensorFlow's libraries read it
// while they open.
func TestWarmChangesNoEnvironment(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := &Program{RuntimeDir: t.TempDir()} // it lacks a runtime
	p.sandbox.process, p.sandbox.mode = true, string(sandbox.Auto)
	p.Warm()
	defer p.sandbox.temp.Close()
	before := os.Environ()
	if err := p.sandbox.ownTemp(); err != nil { // as Confine does
		t.Fatal(err)
	}
	if after := os.Environ(); !slices.Equal(before, after) {
		t.Errorf("the environment changed from %q to %q", before, after)
	}
}
