package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"millrace/dtype"
	"millrace/tfbridge"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/metrics"
	"millrace/internal/test/fixture"
	"millrace/loaders"
)

// classifier is a model with a signature for each use; see its maker in
// testdata/models/make.py.
const classifier = "../testdata/models/classifier"

func source(t testing.TB, d *fixture.Dataset) *loaders.Source {
	t.Helper()
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	return &loaders.Source{Plan: plan}
}

func loadClassifier(t testing.TB) *estimator.Model {
	t.Helper()
	m, err := estimator.LoadModel(classifier, &estimator.ModelOptions{Signatures: []string{"serving_default", "train", "evaluate"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// train trains a fresh model.
func train(t testing.TB, d *fixture.Dataset, dir string, o *estimator.TrainOptions) (*estimator.TrainResult, error) {
	t.Helper()
	m := loadClassifier(t)
	defer m.Close()
	return estimator.Train(t.Context(), m, source(t, d), dir, o)
}

// sameCheckpoint compares the variables of two checkpoints.
func sameCheckpoint(t testing.TB, a, b string, step int64) {
	t.Helper()
	x, err := checkpoint.Load(a, step)
	if err != nil {
		t.Fatal(err)
	}
	y, err := checkpoint.Load(b, step)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Variables) != len(y.Variables) || len(x.Variables) < 9 {
		t.Fatalf("%d and %d tensors", len(x.Variables), len(y.Variables))
	}
	for _, v := range x.Variables {
		if v.Name == "millrace/input" || v.Name == checkpoint.SaveCounter {
			continue // what was buffered differs from run to run, and so does how often a run was saved
		}
		p, err := checkpoint.ReadTensors(x.Prefix, spec(v.TensorSpec))
		if err != nil {
			t.Fatal(err)
		}
		q, err := checkpoint.ReadTensors(y.Prefix, spec(v.TensorSpec))
		if err != nil {
			t.Fatal(err)
		}
		if same, err := equal(p[0], q[0]); err != nil || !same {
			t.Errorf("step %d: %s differs (%v)", step, v.Name, err)
		}
		p[0].Close()
		q[0].Close()
	}
}

// An interrupted and resumed training ends like an uninterrupted one, whatever step it
// was interrupted after: with the same variables, momentum, and place in shuffled data.
func TestTrainGoesOn(t *testing.T) {
	d := fixture.Points(t, 4, fixture.Shuffled())
	whole := t.TempDir()
	result, err := train(t, d, whole, &estimator.TrainOptions{Steps: 40, CheckpointEvery: 40})
	if err != nil {
		t.Fatal(err)
	}
	if result.Step != 40 || result.Steps != 40 || result.Examples != 320 || result.Reason != estimator.EndedBySteps || result.Loss > 0.5 {
		t.Errorf("result %+v", result)
	}
	parts := t.TempDir()
	for _, steps := range []int64{1, 7, 8, 23, 40} {
		if _, err := train(t, d, parts, &estimator.TrainOptions{Steps: steps, CheckpointEvery: 5}); err != nil {
			t.Fatal(err)
		}
	}
	sameCheckpoint(t, whole, parts, 40)
}

// A context that ends leaves a checkpoint of the last step.
func TestTrainCanceled(t *testing.T) {
	d := fixture.Points(t, 4, fixture.Shuffled())
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	m := loadClassifier(t)
	o := &estimator.TrainOptions{Steps: 40}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		if s.Step == 13 {
			cancel()
		}
		return nil
	}
	result, err := estimator.Train(ctx, m, source(t, d), dir, o)
	if !errors.Is(err, millrace.ErrCanceled) || result.Step != 13 {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, err := train(t, d, dir, &estimator.TrainOptions{Steps: 40}); err != nil {
		t.Fatal(err)
	}
	whole := t.TempDir()
	if _, err := train(t, d, whole, &estimator.TrainOptions{Steps: 40}); err != nil {
		t.Fatal(err)
	}
	sameCheckpoint(t, whole, dir, 40)
}

// Evaluating between steps changes neither the variables nor the order of the
// training data, and the newest and the best checkpoints stay.
func TestTrainAndEvaluate(t *testing.T) {
	d, held := fixture.Points(t, 4, fixture.Shuffled()), fixture.Points(t, 2, nil)
	o := &estimator.TrainOptions{
		Steps: 60, CheckpointEvery: 10, Keep: 2, EvaluateEvery: 10, Best: &estimator.Best{Metric: "accuracy"},
		Evaluate: &estimator.EvaluateOptions{Signature: "evaluate", Metrics: []estimator.Metric{
			{Name: "accuracy", Spec: metrics.Spec{Type: metrics.Accuracy}, Labels: "id", Predictions: "scores"},
		}},
	}
	var evaluated []*estimator.Evaluated
	o.Hooks.Evaluated = func(e *estimator.Evaluated) error {
		evaluated = append(evaluated, e)
		return nil
	}
	dir := t.TempDir()
	result, err := estimator.TrainAndEvaluate(t.Context(), loadClassifier(t), source(t, d), source(t, held), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(evaluated) != 6 || evaluated[0].Step != 10 || evaluated[5].Examples != 40 || result.Evaluation.Values["accuracy"].Number < 0.9 {
		t.Errorf("%d evaluations, last %+v", len(evaluated), result.Evaluation)
	}
	best := int64(0)
	for _, e := range evaluated {
		if e.Best {
			best = e.Step
		}
	}
	want := []int64{50, 60}
	if best < 50 {
		want = []int64{best, 50, 60}
	}
	if steps, err := checkpoint.Steps(dir); err != nil || !equalSteps(steps, want) {
		t.Errorf("checkpoints of steps %v, %v, want %v", steps, err, want)
	}
	alone := t.TempDir()
	if _, err := train(t, d, alone, &estimator.TrainOptions{Steps: 60}); err != nil {
		t.Fatal(err)
	}
	sameCheckpoint(t, alone, dir, 60)
}

// A damaged checkpoint is skipped with a warning, and replaced. If all are damaged, the
// training does not start from zero.
func TestDamagedCheckpoints(t *testing.T) {
	d := fixture.Points(t, 2, fixture.Shuffled())
	whole, dir := t.TempDir(), t.TempDir()
	for _, dir := range []string{whole, dir} {
		if _, err := train(t, d, dir, &estimator.TrainOptions{Steps: 20, CheckpointEvery: 10}); err != nil {
			t.Fatal(err)
		}
	}
	for _, steps := range []int64{20, 15} { // to the damaged step, and to one before it
		truncate(t, filepath.Join(dir, "ckpt-20.data-00000-of-00001"))
		var notes []string
		o := &estimator.TrainOptions{Steps: steps}
		o.Hooks.Note = func(text string) { notes = append(notes, text) }
		result, err := train(t, d, dir, o)
		if err != nil || result.Steps != steps-10 || len(notes) != 1 {
			t.Fatalf("%+v, %v, notes %q", result, err, notes)
		}
		if steps == 20 {
			sameCheckpoint(t, whole, dir, 20)
		}
	}
	if steps, err := checkpoint.Steps(dir); err != nil || !equalSteps(steps, []int64{10, 15}) {
		t.Errorf("checkpoints of steps %v, %v", steps, err)
	}
	for _, step := range []string{"10", "15"} {
		truncate(t, filepath.Join(dir, "ckpt-"+step+".data-00000-of-00001"))
	}
	if _, err := train(t, d, dir, nil); !errors.Is(err, millrace.ErrCheckpoint) {
		t.Errorf("all checkpoints are damaged: %v", err)
	}
}

func truncate(t testing.TB, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}

func equalSteps(a, b []int64) bool { return slices.Equal(a, b) }

// equal compares two tensors bit by bit.
func equal(a, b *tfbridge.Tensor) (bool, error) {
	var x, y bytes.Buffer
	if a.DataType() == tfbridge.String {
		p, err := a.StringAt(0)
		q, err2 := b.StringAt(0)
		return p == q, errors.Join(err, err2)
	}
	_, err := a.WriteContentsTo(&x)
	_, err2 := b.WriteContentsTo(&y)
	return bytes.Equal(x.Bytes(), y.Bytes()), errors.Join(err, err2)
}

func spec(s dtype.TensorSpec) []dtype.TensorSpec { return []dtype.TensorSpec{s} }
