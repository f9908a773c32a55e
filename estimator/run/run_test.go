package run_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/run"
	"millrace/internal/test/fixture"
)

// config writes a run config for the points of a dataset and returns its path.
func config(t *testing.T, d *fixture.Dataset, change func(fixture.Object)) string {
	t.Helper()
	model, err := filepath.Abs("../../testdata/models/classifier")
	if err != nil {
		t.Fatal(err)
	}
	c := fixture.Object{
		"model": fixture.Object{"saved_model": model, "evaluate": fixture.Object{"signature": "evaluate"}},
		"train": fixture.Object{"loader": "loader.json", "log_every": 2},
	}
	if change != nil {
		change(c)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Dir, "run.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// train trains in dir and returns the notes as well.
func train(t *testing.T, config, dir string) (s *run.Summary, notes []string, err error) {
	t.Helper()
	r, problems, err := run.Open(config, dir, nil)
	if r == nil {
		t.Fatal(problems, err)
	}
	s, err = r.Train(t.Context(), &run.TrainOptions{Hooks: estimator.Hooks{Note: func(text string) { notes = append(notes, text) }}})
	return s, notes, err
}

// A run without evaluations notes that at its end. When it is started again, it notes
// that it is finished.
func TestFinished(t *testing.T) {
	d, dir := fixture.Points(t, 1, nil), t.TempDir()
	path := config(t, d, nil)
	s, notes, err := train(t, path, dir)
	if err != nil || s.Finished() || s.Step != 3 || len(notes) != 1 || !strings.Contains(notes[0], "never evaluated") {
		t.Fatalf("%+v, notes %q, %v", s, notes, err)
	}
	log, err := os.ReadFile(run.Folder(dir).Log())
	if err != nil || !strings.Contains(string(log), `"note":"the run was never evaluated`) {
		t.Errorf("log %s, %v", log, err)
	}
	s, notes, err = train(t, path, dir)
	if err != nil || !s.Finished() || s.Step != 3 || s.Reason() != estimator.EndedByData || len(notes) != 0 {
		t.Errorf("again: %+v, notes %q, %v", s, notes, err)
	}
}

// Batches that are larger than the data are refused before the first step.
func TestLargeBatches(t *testing.T) {
	for want, args := range map[string]fixture.Object{
		"target_batch_size is 21, and an epoch has 20 examples, which drop_remainder drops; make it at most 20, or drop_remainder false": {"target_batch_size": 21, "drop_remainder": true},
		"target_batch_size is 21, and an epoch has 20 examples: a batch would have examples more than once; make it at most 20":          {"target_batch_size": 21, "epochs": 3},
	} {
		d, dir := fixture.Points(t, 1, args), t.TempDir()
		s, _, err := train(t, config(t, d, nil), dir)
		if s != nil || !errors.Is(err, millrace.ErrConfig) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v: %+v, %v", args, s, err)
		}
	}
	d := fixture.Points(t, 1, fixture.Object{"target_batch_size": 21})
	if s, _, err := train(t, config(t, d, nil), t.TempDir()); err != nil || s.Step != 1 {
		t.Errorf("one batch of all examples: %+v, %v", s, err)
	}
}

// The log has a confusion matrix with the names of its classes, which a file may list.
func TestClassNames(t *testing.T) {
	d, dir := fixture.Points(t, 1, nil), t.TempDir()
	if err := os.WriteFile(filepath.Join(d.Dir, "classes.txt"), []byte("red\ngreen\nblue\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	path := config(t, d, func(c fixture.Object) {
		c["evaluate"] = fixture.Object{"loader": "loader.json", "metrics": []fixture.Object{
			{"name": "matrix", "type": "confusion_matrix", "labels": "id", "predictions": "scores", "class_names": "classes.txt"},
		}}
	})
	s, _, err := train(t, path, dir)
	if err != nil || len(s.Metrics["matrix"].PerClass()) != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	log, err := os.ReadFile(run.Folder(dir).Log())
	if err != nil || !strings.Contains(string(log), `{"classes":["red","green","blue"],"matrix":[[`) || !strings.Contains(string(log), `"per_class":[{"name":"red","precision":`) {
		t.Errorf("log %s, %v", log, err)
	}
}
