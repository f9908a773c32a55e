package main

import (
	"os"
	"strings"
	"testing"

	"millrace/estimator/run"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The README's claim holds: from random weights the model learns at least 97% of the
// held-back digits.
func TestRun(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	var out strings.Builder
	if err := train(t.Context(), "..", dir, &out); err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(out.String(), "step 880: 360 held-back digits, ")
	if _, accuracy, _ := strings.Cut(last, "accuracy "); accuracy < "0.97" {
		t.Errorf("it printed\n%swant an accuracy of at least 0.97 at step 880", out.String())
	}
	out.Reset()
	if err := train(t.Context(), "..", dir, &out); err != nil || out.Len() > 0 {
		t.Errorf("again: %v and %q, want a training that is done", err, out.String())
	}
}

// The config run.json trains the model that this program writes, which is committed as
// untrained.
func TestCommand(t *testing.T) {
	testruntime.Need(t)
	r, problems, err := run.Open("../run.json", t.TempDir(), nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	summary, err := r.Train(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := summary.Metrics["accuracy"].Number; summary.Step != 880 || got < 0.97 {
		t.Errorf("step %d, accuracy %v, want 880 and at least 0.97", summary.Step, got)
	}
}
