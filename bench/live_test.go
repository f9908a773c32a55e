package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

// Our side of live predictions, and the bare call, give a time.
func TestLive(t *testing.T) {
	testruntime.Need(t)
	t.Chdir("..")
	var s sides
	s.python.dir = t.TempDir()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	noneLeft := leak.Objects(t, tfbridge.Live)
	l, err := prepareLive(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.call(make([]float32, values(liveShape))); err != nil {
		t.Error(err)
	}
	var bare latency
	if err := runJSON(t.Context(), &bare, l.bare[0], l.bare[1:]...); err != nil || bare.P50S <= 0 {
		t.Errorf("the bare call: %v, %v", bare, err)
	}
	if err := runJSON(t.Context(), &bare, l.bare[0], filepath.Join("nowhere", "at", "all")); err == nil {
		t.Error("a bare call of nothing succeeded")
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	noneLeft()
}

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }
