package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"millrace/estimator/run"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The loss of random guesses is the logarithm of 128, 4.9. Knowing how often each
// character occurs lowers it to 3.0.
const (
	firstSteps, lossAfter      = 50, 2.6
	fewerSteps, lossAfterFewer = 30, 3.0
)

// The program trains from random weights, and the exported model writes text.
func TestTrain(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	var out strings.Builder
	if err := train(t.Context(), "..", dir, firstSteps, &out); err != nil {
		t.Fatal(err)
	}
	losses := regexp.MustCompile(`step   50: loss (?:of the held-back chapters )?([0-9.]+)\n`).FindAllStringSubmatch(out.String(), -1)
	if len(losses) != 2 {
		t.Fatalf("it printed\n%swant a loss and one of the held-back chapters", out.String())
	}
	for _, found := range losses {
		if loss, err := strconv.ParseFloat(found[1], 64); err != nil || !(loss < lossAfter) {
			t.Errorf("it printed %q, want a loss below %v", found[0], lossAfter)
		}
	}
	model := filepath.Join(dir, "export")
	if err := exportNewest(dir, model); err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for _, seed := range []uint64{1, 1, 2} {
		out.Reset()
		if err := sample(t.Context(), model, &out, &sampleOptions{Start: "And ", Characters: 30, Temperature: 0.6, Seed: seed}); err != nil {
			t.Fatal(err)
		}
		text := strings.TrimPrefix(out.String(), "\nAnd ")
		if len(text) != 31 || strings.Count(text, " ") < 2 {
			t.Errorf("it wrote %q, want 30 characters, some of them blanks", text)
		}
		texts[text] = true
	}
	if len(texts) != 2 {
		t.Errorf("two seeds gave %d texts, want 2", len(texts))
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
	summary, err := r.Train(t.Context(), &run.TrainOptions{Steps: fewerSteps})
	if err != nil {
		t.Fatal(err)
	}
	values := fmt.Sprintf("loss %v, held back %v", summary.Loss.Number, summary.Metrics)
	if !(summary.Loss.Number < lossAfterFewer) || !(summary.Metrics["loss"].Number < lossAfterFewer) {
		t.Errorf("%s, want losses below %v", values, lossAfterFewer)
	}
	if accuracy := summary.Metrics["accuracy"].Number; !(accuracy > 0.2) { // blanks alone are 0.187
		t.Errorf("%s, want an accuracy above 0.2", values)
	}
}

// The committed model is the one that the program writes. Its initial values are left
// out: their last bits depend on the processor.
func TestUntrained(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	model, err := openModel(dir)
	if err != nil {
		t.Fatal(err)
	}
	model.Close()
	got, err := os.ReadFile(filepath.Join(dir, "model", "saved_model.pb"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../untrained/saved_model.pb")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the program writes %d bytes, committed are %d others", len(got), len(want))
	}
}
