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
	p := &Program{process: true, RuntimeDir: t.TempDir()} // there is no runtime
	p.sandbox.mode = string(sandbox.Auto)
	p.Warm()
	defer p.temp.Close()
	before := os.Environ()
	if err := p.ownTemp(); err != nil { // as Confine does
		t.Fatal(err)
	}
	if after := os.Environ(); !slices.Equal(before, after) {
		t.Errorf("the environment changed from %q to %q", before, after)
	}
}
