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
