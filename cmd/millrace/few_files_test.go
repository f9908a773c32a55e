package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
)

// A limit of open files that is too low is named, with the remedy, wherever the command
// meets it: at the model, in the sandbox, or as it opens the data.
func TestFewOpenFiles(t *testing.T) {
	testruntime.Need(t)
	dir := lab(t)
	for _, limit := range []int{12, 20, 26, 34} {
		script := fmt.Sprintf("ulimit -n %d; exec millrace predict predict.json --model model --keep label --out p%d.ndjson", limit, limit)
		said, err := inLab(dir, "sh", "-c", script).CombinedOutput()
		if err == nil && limit > 20 {
			continue // without Landlock fewer files are enough
		}
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != 6 || !strings.Contains(string(said), "raise the limit: ulimit -n 4096") || strings.Contains(string(said), "BUG") {
			t.Errorf("with %d files: %v\n%s", limit, err, said)
		}
	}
}

// Where the system lacks what TensorFlow cannot do without, or limits it too much, the error
// says so, and no signal ends the process.
func TestPoorSystem(t *testing.T) {
	testruntime.Need(t)
	dir := lab(t)
	for _, tt := range []struct {
		first string
		code  int
		says  string
	}{
		{"ulimit -d 200000", 6, "remove it: ulimit -d unlimited"},
		{"mount -t tmpfs none /dev", 7, "/dev/urandom: no such file or directory; TensorFlow reads it"},
		{"mount -t tmpfs none /proc; set -- --sandbox=off", 7, "/proc/self/exe: no such file or directory; TensorFlow reads it"},
		{"mount -t tmpfs none /proc", 7, "/proc/"},
		{"mount -t tmpfs none /sys", 0, ""},
	} {
		shell := []string{"sh"}
		if strings.HasPrefix(tt.first, "mount") {
			shell = []string{"unshare", "-Urm", "sh"}
			if said, err := exec.CommandContext(t.Context(), "unshare", "-Urm", "true").CombinedOutput(); err != nil {
				t.Logf("NOT TRIED, there are no user namespaces here: %s: %s", tt.first, said)
				continue
			}
		}
		shell = append(shell, "-c", tt.first+`; exec millrace predict predict.json --model model --keep label --overwrite --out p.ndjson "$@"`)
		cmd := inLab(dir, shell...)
		said, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(said), tt.says) {
			t.Errorf("%s: exit code %d, want %d: %.600s", tt.first, code, tt.code, said)
		}
	}
}
