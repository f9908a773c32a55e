package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
)

// Predict and bench open the model's file, the config and the manifest once.
// TensorFlow opens the model's file as well, without O_CLOEXEC, which all files
// that Go opens have.
func TestFilesAreOpenedOnce(t *testing.T) {
	testruntime.Need(t)
	needStrace(t)
	program, err := exec.LookPath("millrace")
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join("..", "..", "examples", "digits")
	config, model := filepath.Join(example, "predict.json"), filepath.Join(example, "model")
	files := []string{"saved_model.pb", "predict.json", "__manifest__.json"}
	commands := map[string][]string{
		"predict": {"predict", config, "--model", model, "--keep", "label", "--out", filepath.Join(t.TempDir(), "out.ndjson")},
		"bench":   {"bench", config, "--model", model, "--keep", "label"},
	}
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "strace.log")
			trace := append([]string{"-f", "-qq", "-o", log, "-e", "trace=open,openat", program}, args...)
			if out, err := exec.CommandContext(t.Context(), "strace", trace...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			calls, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			opened := map[string]int{}
			for call := range strings.Lines(string(calls)) {
				for _, file := range files {
					if strings.Contains(call, file+`"`) && strings.Contains(call, "O_CLOEXEC") && !strings.Contains(call, "O_PATH") {
						opened[file]++
					}
				}
			}
			for _, file := range files {
				if opened[file] != 1 {
					t.Errorf("%s is opened %d times", file, opened[file])
				}
			}
		})
	}
}
