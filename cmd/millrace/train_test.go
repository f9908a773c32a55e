package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord"
)

// runConfig writes a run config for the points of a dataset and returns its path.
// change, if not nil, modifies the config first.
func runConfig(t testing.TB, d *fixture.Dataset, change func(fixture.Object)) string {
	t.Helper()
	model, err := filepath.Abs("../../testdata/models/classifier")
	if err != nil {
		t.Fatal(err)
	}
	config := fixture.Object{
		"model":       fixture.Object{"saved_model": model, "evaluate": fixture.Object{"signature": "evaluate"}},
		"train":       fixture.Object{"loader": "loader.json", "steps": 60, "log_every": 20},
		"checkpoints": fixture.Object{"every_steps": 20},
	}
	if change != nil {
		change(config)
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Dir, "run.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// trained runs a command of millrace and returns its output.
func trained(t testing.TB, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "millrace", args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%q did not start: %v", args, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%q: %v, want exit code %d\n%s", args, cmd.ProcessState, code, said.String())
	}
	return out.String(), said.String()
}

// scalars returns the values of a name in the event files of a folder, by step.
func scalars(t *testing.T, dir, name string) map[int64]float32 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[int64]float32{}
	for _, file := range files {
		for record, err := range tfrecord.Records(file, nil) {
			if err != nil {
				t.Fatal(err)
			}
			e := &tfproto.Event{}
			if err := proto.Unmarshal(record.Data, e); err != nil {
				t.Fatal(err)
			}
			for _, v := range e.GetSummary().GetValue() {
				if v.Tag == name {
					values[e.Step] = v.GetTensor().GetFloatVal()[0]
				}
			}
		}
	}
	return values
}

// A run trains and prints its results. When the same command runs again, it finds that
// the training is done.
func TestTrain(t *testing.T) {
	testruntime.Need(t)
	d := fixture.Points(t, 4, fixture.Shuffled())
	held := fixture.Points(t, 2, nil)
	config := runConfig(t, d, func(c fixture.Object) {
		c["evaluate"] = fixture.Object{"loader": held.Config(), "every_steps": 30, "metrics": []fixture.Object{
			{"name": "accuracy", "type": "accuracy", "labels": "id", "predictions": "scores"},
		}}
		c["checkpoints"] = fixture.Object{"every_steps": 20, "best": fixture.Object{"metric": "accuracy"}}
	})
	dir := filepath.Join(t.TempDir(), "run")
	out, _ := trained(t, 0, "train", config, "--dir", dir, "--json")
	var summary struct {
		Step    int64              `json:"step"`
		Loss    float64            `json:"loss"`
		Metrics map[string]float64 `json:"metrics"`
		Wait    *float64           `json:"input_wait"`
	}
	if err := json.Unmarshal([]byte(out), &summary); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if summary.Step != 60 || summary.Loss > 0.5 || summary.Metrics["accuracy"] < 0.9 || summary.Wait == nil {
		t.Errorf("summary %s", out)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log.ndjson"))
	if err != nil || strings.Count(string(log), "learning_rate") != 3 || strings.Count(string(log), "evaluation") != 2 {
		t.Errorf("log (%v):\n%s", err, log)
	}
	if got := scalars(t, filepath.Join(dir, "events", "train"), "loss"); len(got) != 3 || !strings.Contains(string(log), `"loss":`+fmt.Sprintf("%.9f", got[60])[:7]) {
		t.Errorf("TensorBoard's losses %v, want the three of the log\n%s", got, log)
	}
	if got := scalars(t, filepath.Join(dir, "events", "evaluate"), "accuracy"); len(got) != 2 || got[60] != float32(summary.Metrics["accuracy"]) {
		t.Errorf("TensorBoard's accuracies %v, want two, the last %v", got, summary.Metrics["accuracy"])
	}
	out, said := trained(t, 0, "train", config, "--dir", dir)
	if !strings.Contains(out, "the run is finished already: step 60, ended by steps; more train.steps") || !strings.Contains(said, "going on after step 60") {
		t.Errorf("the same command again: %s%s", out, said)
	}
}

// There is a warning about values that a metric of probabilities should not get: once
// in the terminal, and in the log by each evaluation.
func TestTrainWarnsOfLogits(t *testing.T) {
	testruntime.Need(t)
	held := fixture.Points(t, 2, nil)
	config := runConfig(t, fixture.Points(t, 4, fixture.Shuffled()), func(c fixture.Object) {
		c["evaluate"] = fixture.Object{"loader": held.Config(), "every_steps": 30, "metrics": []fixture.Object{
			{"name": "curve", "type": "pr_auc", "labels": "id", "predictions": "id"},
			{"name": "f1", "type": "f1_score", "labels": "id", "predictions": "scores"},
		}}
		c["checkpoints"] = fixture.Object{"best": fixture.Object{"metric": "f1"}}
	})
	dir := filepath.Join(t.TempDir(), "run")
	const warning = `metric "curve": 13 of 40 predictions are outside [0, 1], first 2`
	if _, stderr := trained(t, 0, "train", config, "--dir", dir); strings.Count(stderr, warning) != 1 {
		t.Errorf("train says %s", stderr)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log.ndjson"))
	if err != nil || strings.Count(string(log), `"warnings":["metric \"curve\": `) != 2 {
		t.Errorf("log (%v):\n%s", err, log)
	}
	if _, stderr := trained(t, 0, "evaluate", config, "--dir", dir); strings.Count(stderr, warning) != 1 {
		t.Errorf("evaluate says %s", stderr)
	}
}

// setTrain changes the training options of a run config, and how often it saves.
func setTrain(t testing.TB, config string, train fixture.Object, everySteps int) {
	t.Helper()
	changeConfig(t, config, config, func(c fixture.Object) {
		c["train"], c["checkpoints"] = train, fixture.Object{"every_steps": everySteps}
	})
}

// changeConfig writes the config at from with a change to the path to, which may be the same, and returns to.
func changeConfig(t testing.TB, from, to string, change func(c fixture.Object)) string {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var c fixture.Object
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	if text, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return to
}

// lossesIn returns step and loss of each line of a run's log.
func lossesIn(t testing.TB, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "log.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		var l struct {
			Step int64
			Loss float64
			Note string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if l.Note != "" {
			continue
		}
		fmt.Fprintln(&b, l.Step, l.Loss)
	}
	return b.Bytes()
}

// A second process evaluates each new checkpoint once, and ends after the training has
// ended. Any checkpoint can be evaluated and exported.
func TestEvaluateWatches(t *testing.T) {
	testruntime.Need(t)
	d, held := fixture.Points(t, 4, fixture.Shuffled()), fixture.Points(t, 2, nil)
	config := runConfig(t, d, func(c fixture.Object) {
		c["evaluate"] = fixture.Object{"loader": held.Config()}
	})
	dir := filepath.Join(t.TempDir(), "run")
	watcher := exec.CommandContext(t.Context(), "millrace", "evaluate", config, "--dir", dir, "--watch", "--json")
	var said bytes.Buffer
	watcher.Stdout = &said
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	trained(t, 0, "train", config, "--dir", dir)
	if err := watcher.Wait(); err != nil {
		t.Fatal(err)
	}
	var last int64
	for line := range bytes.Lines(said.Bytes()) {
		var e struct {
			Step int64 `json:"step"`
		}
		if err := json.Unmarshal(line, &e); err != nil || e.Step <= last {
			t.Errorf("after step %d: %s (%v)", last, line, err)
		}
		last = e.Step
	}
	if last != 60 {
		t.Errorf("the last evaluation is of step %d:\n%s", last, said.String())
	}
	out, _ := trained(t, 0, "evaluate", config, "--dir", dir, "--checkpoint", filepath.Join(dir, "checkpoints", "ckpt-20"))
	if !strings.HasPrefix(out, "step 20: 40 examples: loss ") {
		t.Errorf("evaluate: %s", out)
	}
	trained(t, 0, "export", dir)
	trained(t, 5, "evaluate", config, "--dir", dir, "--checkpoint", "best")
}
