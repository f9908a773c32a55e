package killstep

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// A program is killed before each of its changes in turn: also those of programs that it starts.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	script := `cd "$0" && rm -rf * && mkdir a && : >a/x && (sh -c "mv a/x a/y") && ln -s y a/z && sync a/y && echo done >b`
	var seen []string
	for step := 1; ; step++ {
		cmd := exec.Command("/bin/sh", "-c", script, dir)
		ended := Run(t, cmd, step)
		names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		now := strings.Join(names, " ")
		if len(seen) == 0 || seen[len(seen)-1] != now {
			seen = append(seen, now)
		}
		if ended != (cmd.ProcessState != nil && cmd.ProcessState.Success()) {
			t.Errorf("step %d: ended %v, %v", step, ended, cmd.ProcessState)
		}
		if ended {
			break
		}
		if text, err := os.ReadFile(filepath.Join(dir, "b")); err == nil && len(text) > 0 {
			t.Fatalf("step %d: the last file has %q", step, text)
		}
	}
	if got := strings.Join(seen, ", "); got != ", x, y, y z" {
		t.Errorf("the folder had %q", got)
	}
}
