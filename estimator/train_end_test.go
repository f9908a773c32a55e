package estimator_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/losses"
	"millrace/estimator/metrics"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/steps"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// level is an evaluation whose result no training changes: the mean of the labels.
func level() *estimator.EvaluateOptions {
	return &estimator.EvaluateOptions{Metrics: []estimator.Metric{{Name: "level", Spec: metrics.Spec{Type: metrics.Mean}, Predictions: "label"}}}
}

// trainLinear trains a fresh linear model on batches of a plane.
func trainLinear(t *testing.T, batches int64, dir string, o *estimator.TrainOptions) *estimator.TrainResult {
	t.Helper()
	m := loadLinear(t)
	defer m.Close()
	o.Objective = regression()
	var held estimator.Source
	if o.Evaluate != nil {
		held = plane(1)
	}
	r, err := estimator.TrainAndEvaluate(t.Context(), m, plane(batches), held, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A training whose evaluations get no better stops, and stays stopped. The best
// checkpoint, the first of equals, stays beside the newest.
func TestTrainStopsEarly(t *testing.T) {
	dir := t.TempDir()
	best := estimator.Best{Metric: "level"}
	o := &estimator.TrainOptions{Evaluate: level(), EvaluateEvery: 2, Keep: 1, Best: &best, Stop: &estimator.Stop{Best: best, Patience: 2}}
	var marked, kept []int64
	o.Hooks.Evaluated = func(e *estimator.Evaluated) error {
		if e.Best {
			marked = append(marked, e.Step)
		}
		return nil
	}
	o.Hooks.Saved = func(s *estimator.Saved) error {
		if s.Best {
			kept = append(kept, s.Step)
		}
		return nil
	}
	r := trainLinear(t, 20, dir, o)
	if r.Reason != estimator.EndedByStop || r.Step != 6 || r.Steps != 6 || r.Evaluation == nil || !slices.Equal(marked, []int64{2}) || !slices.Equal(kept, marked) {
		t.Errorf("result %+v, best %d, best checkpoints %d", r, marked, kept)
	}
	if list, err := checkpoint.Steps(dir); err != nil || !slices.Equal(list, []int64{2, 6}) {
		t.Errorf("checkpoints of steps %v, %v", list, err)
	}
	c, err := checkpoint.Load(dir, 6)
	if err != nil {
		t.Fatal(err)
	}
	if step, ok := estimator.BestStep(c); step != 2 || !ok {
		t.Errorf("the best step is %d, %v", step, ok)
	}
	for _, state := range []string{"{}", "["} {
		c.Info.State = []byte(state)
		if step, ok := estimator.BestStep(c); step != 0 || ok {
			t.Errorf("the best step of %s is %d, %v", state, step, ok)
		}
	}
	if r := trainLinear(t, 20, dir, o); r.Reason != estimator.EndedByStop || r.Steps != 0 || r.Step != 6 || !math.IsNaN(r.Loss) || r.Evaluation != nil {
		t.Errorf("again: %+v", r)
	}
	o.Stop.Patience = 3
	if r := trainLinear(t, 20, dir, o); r.Reason != estimator.EndedByStop || r.Step != 8 || r.Steps != 2 {
		t.Errorf("with more patience: %+v", r)
	}
}

// A training over all of its data has ended until the data change. A training with a number
// of steps has ended until that number grows.
func TestTrainThatHasEnded(t *testing.T) {
	dir := t.TempDir()
	var notes []string
	var first, saved []int64
	o := &estimator.TrainOptions{Job: map[string]string{"data": "a"}, DataKeys: []string{"data"}}
	o.Hooks.Note = func(text string) { notes = append(notes, text) }
	o.Hooks.Restored = func(step int64) error { first = append(first, step); return nil }
	o.Hooks.Saved = func(s *estimator.Saved) error { saved = append(saved, s.Step); return nil }
	for i, want := range []estimator.TrainResult{
		{Step: 3, Steps: 3, Examples: 12, Reason: estimator.EndedByData},
		{Step: 3, Reason: estimator.EndedByData},
		{Step: 6, Steps: 3, Examples: 12, Reason: estimator.EndedByData}, // other data
		{Step: 6, Reason: estimator.EndedByData},
	} {
		if i == 2 {
			o.Job, o.AllowChanged = map[string]string{"data": "b"}, []string{"data"}
		}
		r := trainLinear(t, 3, dir, o)
		if made := !math.IsNaN(r.Loss); made != (want.Steps > 0) {
			t.Errorf("%d: the loss is %v", i, r.Loss)
		}
		if r.Step != want.Step || r.Steps != want.Steps || r.Examples != want.Examples || r.Reason != want.Reason {
			t.Errorf("%d: %+v, want %+v", i, r, want)
		}
	}
	if !slices.Equal(first, []int64{0, 3, 3, 6}) || !slices.Equal(saved, []int64{3, 6}) {
		t.Errorf("the trainings went on after steps %d, and saved %d", first, saved)
	}
	steps := t.TempDir()
	for i, want := range []int64{2, 0, 1} {
		o := &estimator.TrainOptions{Steps: 2 + int64(i/2), CheckpointEvery: 1, Hooks: estimator.Hooks{Note: o.Hooks.Note}}
		if r := trainLinear(t, 9, steps, o); r.Reason != estimator.EndedBySteps || r.Step != o.Steps || r.Steps != want {
			t.Errorf("%d steps: %+v, want %d made", o.Steps, r, want)
		}
	}
	const unsaved, anew = "the position in this source cannot be saved: a training that is interrupted reads it from its start again",
		"the position in this source was not saved: the training reads it from its start again"
	want := []string{
		"the training continues although data was a and now is b", "other data than before: it is read from its start", unsaved, anew, anew, unsaved,
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
}

// The steps of a profile are traced, counted from the beginning of the training,
// and no others.
func TestTrainProfile(t *testing.T) {
	dir := t.TempDir()
	trainLinear(t, 9, dir, &estimator.TrainOptions{Steps: 1})
	var traced []int64
	o := &estimator.TrainOptions{Steps: 5, Profile: &estimator.StepRange{First: 3, Last: 4}}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		if s.Trace != nil {
			traced = append(traced, s.Step)
		}
		return nil
	}
	if trainLinear(t, 9, dir, o); !slices.Equal(traced, []int64{3, 4}) {
		t.Errorf("steps %d are traced", traced)
	}
}

// lost is a source whose position cannot be encoded.
type lost struct{ waiting }

func (l *lost) Pipeline(_ context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	in := steps.Input{
		Tensors: []steps.NamedOutput{{Name: "id", Output: s.Const([]int64{1})}, {Name: "xs", Output: s.Const([][]float32{{1, 1}})}},
		Open:    func(context.Context, *tfbridge.Session, *steps.Options) (steps.Pass, error) { return l, nil },
	}
	return steps.New(in), s.Err()
}

var errLost = errors.New("the position is lost")

func (l *lost) SaveState(context.Context) (func() ([]byte, error), error) {
	return func() ([]byte, error) { return nil, errLost }, nil
}

// A failure between steps is the error of the training, which writes no
// checkpoint of the step.
func TestTrainFailsBetweenSteps(t *testing.T) {
	dir := t.TempDir()
	if _, err := estimator.Train(t.Context(), loadClassifier(t), &lost{}, dir, &estimator.TrainOptions{Steps: 2, CheckpointEvery: 1}); !errors.Is(err, errLost) {
		t.Errorf("a position that cannot be encoded: %v", err)
	}
	failure := errors.New("of the hook")
	first := &estimator.TrainOptions{Objective: regression()}
	first.Hooks.BeforeStep = func(int64) error { return failure }
	if r, err := estimator.Train(t.Context(), loadLinear(t), plane(5), dir, first); !errors.Is(err, failure) || r.Steps != 0 {
		t.Errorf("a hook before the first step: %+v, %v", r, err)
	}
	wrong := level()
	wrong.Metrics[0].Spec = metrics.Spec{Type: metrics.Accuracy}
	wrong.Metrics[0].Labels = "x" // three numbers for two
	o := &estimator.TrainOptions{Objective: regression(), Evaluate: wrong, EvaluateEvery: 2, CheckpointEvery: 2}
	r, err := estimator.TrainAndEvaluate(t.Context(), loadLinear(t), plane(5), plane(1), dir, o)
	if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `metric "level"`) || r == nil || r.Step != 2 {
		t.Errorf("an evaluation that fails: %+v, %v", r, err)
	}
	if list, err := checkpoint.Steps(dir); err != nil || len(list) > 0 {
		t.Errorf("checkpoints of steps %v, %v", list, err)
	}
}

// An objective needs a source with the signature's inputs.
func TestObjectiveWithoutInputs(t *testing.T) {
	labels := estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.FromTensors(s, s.Const([][]float32{{1, 2}}))
	}, "label")
	_, err := loadLinear(t).Join(t.Context(), labels, &estimator.JoinOptions{Objective: regression()})
	if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `"x": the source has no tensor of this name`) {
		t.Errorf("got %v", err)
	}
}

// A signature without any output that can be fetched is refused when the model is read.
// Such an output among others is skipped.
func TestOutputsThatCannotBeFetched(t *testing.T) {
	build := func(more bool) string {
		var handle tfbridge.Output
		body := func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			handle = s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": tfbridge.ScalarShape(), "shared_name": "v"})
			return graph.Identity(s, x)
		}
		return builtModel(t, body, func(m *tfproto.MetaGraphDef) {
			outputs := m.GetSignatureDef()["serving_default"].Outputs
			outputs["handle"] = info("handle", handle)["handle"]
			if !more {
				delete(outputs, "y")
			}
		})
	}
	if m, err := estimator.ReadModel(build(false), nil); m != nil || !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `"handle"`) {
		t.Errorf("alone: %v, %v", m, err)
	}
	m := loadBuilt(t, build(true))
	if outputs, err := m.Outputs("", nil); err != nil || len(outputs) != 1 || outputs[0].Name != "y" {
		t.Errorf("beside another: %v, %v", outputs, err)
	}
	if _, err := m.Outputs("", []string{"handle"}); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("by name: %v", err)
	}
}

// A training must continue with the loss, the optimizer and the signature that it began
// with.
func TestTrainWithAnotherObjective(t *testing.T) {
	dir := t.TempDir()
	trainLinear(t, 9, dir, &estimator.TrainOptions{Steps: 1})
	for want, edit := range map[string]func(o *estimator.Objective){
		"optimizer was adam and now is sgd":     func(o *estimator.Objective) { o.Optimizer = optimizer.NewSGD() },
		"loss was mean_squared_error of  and l": func(o *estimator.Objective) { o.Loss.Type = losses.MeanAbsoluteError },
	} {
		o := &estimator.TrainOptions{Objective: regression()}
		edit(o.Objective)
		_, err := estimator.Train(t.Context(), loadLinear(t), plane(3), dir, o)
		if !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// Restore sets the variables from a checkpoint, given by a prefix or as the newest in a
// folder. With an invalid checkpoint, or another model's, they keep their values.
func TestRestore(t *testing.T) {
	m := loadLinear(t)
	p, err := m.Join(t.Context(), plane(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	predict := func() (y []float32) {
		t.Helper()
		for b, err := range p.Run(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			v, _ := tfbridge.View[float32](b.Tensor("y"))
			y = slices.Clone(v)
		}
		return y
	}
	own, dir := predict(), t.TempDir()
	trainLinear(t, 5, dir, &estimator.TrainOptions{CheckpointEvery: 2})
	seen := map[string][]float32{}
	for _, path := range []string{filepath.Join(dir, "ckpt-2"), dir, filepath.Join(modelDir("linear"), "variables", "variables")} {
		if err := m.Restore(path); err != nil {
			t.Fatal(err)
		}
		seen[path] = predict()
	}
	if second, newest := seen[filepath.Join(dir, "ckpt-2")], seen[dir]; slices.Equal(second, own) || slices.Equal(newest, own) || slices.Equal(second, newest) {
		t.Errorf("checkpoints predict %v and %v, the model %v", second, newest, own)
	}
	if now := predict(); !slices.Equal(now, own) {
		t.Errorf("the model's own checkpoint predicts %v, the model %v", now, own)
	}
	for _, path := range []string{t.TempDir(), filepath.Join(dir, "ckpt-99"), filepath.Join(classifier, "variables", "variables")} {
		if err := m.Restore(path); !errors.Is(err, millrace.ErrCheckpoint) {
			t.Errorf("%s: %v", path, err)
		}
		if now := predict(); !slices.Equal(now, own) {
			t.Errorf("%s changes the variables", path)
		}
	}
}

// A signature must train something, and have the loss as a number.
func TestTrainWithoutALoss(t *testing.T) {
	m := loadClassifier(t)
	for want, o := range map[string]*estimator.TrainOptions{
		"changes no variable, so it trains nothing": {Signature: "evaluate"},
		`there is no output "depth" to be the loss`: {Loss: "depth"},
	} {
		r, err := estimator.Train(t.Context(), m, source(t, fixture.Points(t, 1, nil)), t.TempDir(), o)
		if r != nil || !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v\nwant %s", r, err, want)
		}
	}
	missing := &estimator.TrainOptions{Objective: regression(), Evaluate: level(), EvaluateEvery: 1, Best: &estimator.Best{Metric: "depth"}}
	missing.Hooks.Evaluated = func(*estimator.Evaluated) error { return nil }
	if _, err := estimator.TrainAndEvaluate(t.Context(), loadLinear(t), plane(2), plane(1), t.TempDir(), missing); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("a best checkpoint by no metric: %v", err)
	}
}

// The loss weights each example: weight 0 excludes it.
func TestObjectiveWithWeights(t *testing.T) {
	weighted := estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		x := s.Const([][]float32{{1, 2, 3}, {4, 5, 6}})
		return dataset.FromTensors(s, x, s.Const([][]float32{{1, 1}, {9, 9}}), s.Const([]float32{1, 0}), s.Const([]float32{1, 1}))
	}, "x", "label", "first", "both")
	losses := map[string]float32{}
	for _, weights := range []string{"", "both", "first"} {
		o := regression()
		o.Weights = weights
		p, err := loadLinear(t).Join(t.Context(), weighted, &estimator.JoinOptions{Objective: o})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range p.Run(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			losses[weights] = scalar(t, b.Tensor("loss"))
		}
	}
	if losses[""] != losses["both"] || losses["first"] == losses["both"] {
		t.Errorf("losses %v, want that of all examples alike with equal weights, and another with one", losses)
	}
}

// A training that ended with its data has saved its last step. It is not taken for
// another job, and the error says what changed and in which checkpoint.
func TestTrainRefusesAnotherJob(t *testing.T) {
	dir := t.TempDir()
	var saved []int64
	o := &estimator.TrainOptions{Job: map[string]string{"data": "first"}}
	o.Hooks.Saved = func(s *estimator.Saved) error {
		if saved = append(saved, s.Step); s.Best {
			t.Errorf("step %d is the best, and nothing was compared", s.Step)
		}
		return nil
	}
	if r := trainLinear(t, 3, dir, o); r.Reason != estimator.EndedByData || !slices.Equal(saved, []int64{3}) {
		t.Errorf("the training ended by %v with the checkpoints %v", r.Reason, saved)
	}
	m := loadLinear(t)
	defer m.Close()
	_, err := estimator.Train(t.Context(), m, plane(3), dir, &estimator.TrainOptions{Objective: regression(), Job: map[string]string{"data": "second"}})
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || !strings.HasPrefix(e.File, dir) || !strings.Contains(err.Error(), "data") || !strings.Contains(err.Error(), "first") {
		t.Errorf("another job goes on: %v", err)
	}
}

// Where the data end a training, its last step is evaluated too, once.
func TestEvaluatedAtEndOfData(t *testing.T) {
	for batches, want := range map[int64][]int64{3: {2, 3}, 4: {2, 4}} {
		var steps []int64
		o := &estimator.TrainOptions{Evaluate: level(), EvaluateEvery: 2, Best: &estimator.Best{Metric: "level"}}
		o.Hooks.Evaluated = func(e *estimator.Evaluated) error {
			steps = append(steps, e.Step)
			return nil
		}
		r := trainLinear(t, batches, t.TempDir(), o)
		if !slices.Equal(steps, want) || r.Evaluation == nil {
			t.Errorf("%d batches: evaluated after %v, want %v", batches, steps, want)
		}
	}
}
