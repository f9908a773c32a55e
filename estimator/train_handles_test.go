package estimator_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/graph"
	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

// A training that writes checkpoints, reads its variables, is resumed and fails to
// write leaks no handle.
func TestTrainLeavesNoHandle(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	dir := t.TempDir()
	for steps := range int64(3) {
		o := &estimator.TrainOptions{Steps: steps + 1, CheckpointEvery: 1, Gradients: true}
		o.Hooks.AfterStep = func(s *estimator.Step) error {
			variables, err := s.Variables()
			for _, v := range variables {
				v.Close()
			}
			if len(variables) != 2 || len(s.Gradients()) != 2 {
				t.Errorf("%d variables and %d gradients", len(variables), len(s.Gradients()))
			}
			return err
		}
		o.Hooks.Saved = func(s *estimator.Saved) error {
			if s.Held <= 0 || s.Prefix != filepath.Join(dir, "ckpt-"+string(rune('0'+s.Step))) {
				t.Errorf("saved %+v", s)
			}
			return nil
		}
		if r := trainLinear(t, 9, dir, o); r.Step != steps+1 || r.Steps != 1 {
			t.Errorf("result %+v", r)
		}
	}
	m := loadClassifier(t)
	defer m.Close()
	if _, err := estimator.Train(t.Context(), m, &lost{}, t.TempDir(), &estimator.TrainOptions{Steps: 2, CheckpointEvery: 1}); !errors.Is(err, errLost) {
		t.Errorf("a position that cannot be encoded: %v", err)
	}
	if err := m.Restore(filepath.Join(classifier, "variables", "variables")); err != nil {
		t.Error(err)
	}
}

// A checkpoint keeps the metrics of an evaluation at exactly its step, also after a resumed
// training.
func TestMetricsInCheckpoints(t *testing.T) {
	dir := t.TempDir()
	for _, steps := range []int64{2, 6} {
		trainLinear(t, 9, dir, &estimator.TrainOptions{Steps: steps, CheckpointEvery: 1, Keep: 9, Evaluate: level(), EvaluateEvery: 2})
	}
	evaluated := map[int64][]string{}
	for step := range int64(6) {
		c, err := checkpoint.Load(dir, step+1)
		if err != nil {
			t.Fatal(err)
		}
		var state struct {
			Examples, Saves int64
			Metrics         map[string]float64
		}
		if err := json.Unmarshal(c.Info.State, &state); err != nil || state.Examples != 4*(step+1) || state.Saves != step+1 {
			t.Errorf("step %d: state %s, %v", step+1, c.Info.State, err)
		}
		if state.Metrics != nil {
			evaluated[step+1] = slices.Collect(maps.Keys(state.Metrics))
		}
	}
	if got := slices.Sorted(maps.Keys(evaluated)); !slices.Equal(got, []int64{2, 4, 6}) || !slices.Equal(evaluated[4], []string{"level"}) {
		t.Errorf("metrics %v", evaluated)
	}
}

// A training that cannot be resumed names the checkpoint: other variables are trained, or
// the checkpoint's record of the training is damaged.
func TestTrainThatCannotGoOn(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	dir := t.TempDir()
	m := loadLinear(t)
	defer m.Close()
	begin := &estimator.TrainOptions{Objective: regression(), Steps: 1}
	begin.Objective.Variables = []string{"b*"}
	if _, err := estimator.Train(t.Context(), m, plane(3), dir, begin); err != nil {
		t.Fatal(err)
	}
	refused := func(want string, o *estimator.TrainOptions) {
		t.Helper()
		r, err := estimator.Train(t.Context(), m, plane(3), dir, o)
		var e *millrace.Error
		if r != nil || !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || !strings.HasPrefix(e.File, filepath.Join(dir, "ckpt-1")) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v\nwant %s", r, err, want)
		}
	}
	refused("variables was b* and now is all that are trainable", &estimator.TrainOptions{Objective: regression(), Steps: 2})
	info := filepath.Join(dir, "ckpt-1.json")
	text, err := os.ReadFile(info)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	fields["state"] = []string{"another"}
	if text, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(info, text, 0o666); err != nil {
		t.Fatal(err)
	}
	refused("damaged: ", &estimator.TrainOptions{Objective: begin.Objective, Steps: 2})
}

// A training needs the files of its model, whose objects its checkpoints name.
func TestTrainWhoseModelHasLostItsFiles(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	model := copyModel(t, "linear")
	m := loadBuilt(t, model)
	if err := os.RemoveAll(filepath.Join(model, "variables")); err != nil {
		t.Fatal(err)
	}
	o := &estimator.TrainOptions{Objective: regression(), Steps: 1}
	o.Hooks.BeforeStep = func(int64) error {
		t.Error("a step was made")
		return nil
	}
	if r, err := estimator.Train(t.Context(), m, plane(3), t.TempDir(), o); r != nil || err == nil {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Where a folder to begin from holds no checkpoint, nothing is trained.
func TestTrainInitFromNothing(t *testing.T) {
	m := loadLinear(t)
	for _, init := range []string{t.TempDir(), filepath.Join(t.TempDir(), "ckpt-9")} {
		o := &estimator.TrainOptions{Objective: regression(), Steps: 1, Init: init}
		if r, err := estimator.Train(t.Context(), m, plane(3), t.TempDir(), o); r != nil || !errors.Is(err, millrace.ErrCheckpoint) {
			t.Errorf("%s: %+v, %v", init, r, err)
		}
	}
}

// The variables of a model that is closed cannot be read, and the training ends
// with that error.
func TestTrainOfAClosedModel(t *testing.T) {
	m := loadLinear(t)
	o := &estimator.TrainOptions{Objective: regression(), Steps: 3}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		v, err := s.Variables()
		if v != nil || err == nil {
			t.Errorf("variables %v, %v", v, err)
		}
		return err
	}
	if r, err := estimator.Train(t.Context(), m, plane(3), t.TempDir(), o); !errors.Is(err, millrace.ErrClosed) || r == nil || r.Steps != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A context that ends during an evaluation ends the training with a checkpoint,
// which is not the best one: nothing was compared.
func TestTrainCanceledWhileEvaluating(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	values := map[string]graph.Spec{"x": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 3)}, "label": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 2)}}
	held := estimator.FromValues(values, func(yield func(map[string]any, error) bool) {
		cancel()
		for yield(map[string]any{"x": [][]float32{{1, 2, 3}}, "label": [][]float32{{1, 2}}}, nil) {
		}
	})
	var saved []estimator.Saved
	o := &estimator.TrainOptions{Objective: regression(), Evaluate: level(), EvaluateEvery: 1, Best: &estimator.Best{Metric: "level"}}
	o.Hooks.Saved = func(s *estimator.Saved) error { saved = append(saved, *s); return nil }
	o.Hooks.Evaluated = func(*estimator.Evaluated) error {
		t.Error("the evaluation has ended")
		return nil
	}
	m := loadLinear(t)
	r, err := estimator.TrainAndEvaluate(ctx, m, plane(5), held, t.TempDir(), o)
	if !errors.Is(err, millrace.ErrCanceled) || r.Reason != estimator.EndedByContext || r.Step != 1 || r.Evaluation != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	if len(saved) != 1 || saved[0].Step != 1 || saved[0].Best {
		t.Errorf("saved %+v", saved)
	}
}
