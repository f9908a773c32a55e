package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// variableNames matches the names of TensorFlow's environment variables, as they stand in its
// libraries.
var variableNames = regexp.MustCompile(`\x00((?:TF|XLA|TFG|TSL|TPU|MLIR|DNNL|ONEDNN|GRPC|OMP|KMP|EIGEN|PJRT)_[A-Z0-9_]{3,50})\x00`)

// namesInLibraries returns the variables that TensorFlow's libraries name.
func namesInLibraries(t *testing.T) (names []string) {
	t.Helper()
	dir, err := tfbridge.FindRuntime(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range []string{"libtensorflow_framework.so.2", "libtensorflow_cc.so.2"} {
		text, err := os.ReadFile(filepath.Join(dir, library))
		if err != nil {
			t.Fatal(err)
		}
		for start := 0; ; { // names may share a zero
			at := variableNames.FindSubmatchIndex(text[start:])
			if at == nil {
				break
			}
			names = append(names, string(text[start+at[2]:start+at[3]]))
			start += at[3]
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A variable of the environment that TensorFlow cannot parse is an error, or without effect: it
// neither ends the process by a signal nor holds it up. A brief run takes three variables, a
// long one all that TensorFlow's libraries name.
func TestHostileVariables(t *testing.T) {
	testruntime.Need(t)
	dir := lab(t)
	names := []string{"TF_DETERMINISTIC_OPS", "TF_ENABLE_ONEDNN_OPTS", "TF_USE_CUBLASLT"}
	if soak.Long() {
		if names = namesInLibraries(t); len(names) < 100 {
			t.Fatalf("TensorFlow's libraries name %d variables: %q", len(names), names)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, name := range names {
		for _, value := range []string{"garbage", ""} {
			cmd := exec.CommandContext(ctx, "millrace", "predict", "predict.json", "--model", "model", "--keep", "label", "--overwrite", "--out", "p.ndjson")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), name+"="+value)
			said, err := cmd.CombinedOutput()
			var ended *exec.ExitError
			if errors.As(err, &ended) && (ended.ExitCode() < 0 || ended.ExitCode() > 7) {
				t.Errorf("%s=%q: %v\n%s", name, value, err, said)
			}
		}
	}
}
