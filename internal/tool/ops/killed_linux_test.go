package ops

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"millrace/internal/test/killstep"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// killedCommand has this test program build a folder with a compiler and a runtime.
const killedCommand = "build-to-be-killed"

func buildHere(args []string) error {
	_, _, err := Build(context.Background(), args[0], &BuildOptions{Compiler: []string{args[1]}, Runtime: args[2]})
	return err
}

// A build that is killed, before any of its changes of the file system, leaves the library of before, the new one, or none if there was none.
// The next build works and leaves nothing else.
func TestBuildKilled(t *testing.T) {
	testruntime.Need(t)
	runtime, err := tfbridge.FindRuntime(nil)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cxx, dir := compiler(t, compiles), folder(t, "a.cc")
	library := filepath.Join(dir, "reader.so")
	if _, _, err := Build(t.Context(), dir, &BuildOptions{Compiler: cxx}); err != nil {
		t.Fatal(err)
	}
	want := list(t, dir)
	for step := 1; ; step++ {
		os.Remove(library)
		old := step%2 == 0
		if old {
			if err := os.WriteFile(library, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		ended := killstep.Run(t, exec.CommandContext(t.Context(), self, killedCommand, dir, cxx[0], runtime), step)
		text, err := os.ReadFile(library)
		switch {
		case errors.Is(err, os.ErrNotExist):
			if old {
				t.Errorf("step %d: the library of before is gone", step)
			}
		case err != nil, string(text) != "old" && len(text) < 100:
			t.Errorf("step %d: the library has %q, %v", step, text, err)
		}
		if _, _, err := Build(t.Context(), dir, &BuildOptions{Compiler: cxx}); err != nil {
			t.Errorf("step %d: the next build: %v", step, err)
		}
		if names := list(t, dir); names != want {
			t.Errorf("step %d: the folder has %s", step, names)
		}
		if t.Failed() {
			return
		}
		if ended {
			return
		}
	}
}
