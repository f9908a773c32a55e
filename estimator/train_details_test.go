package estimator_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/metrics"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// Without further options a training ends with the data, keeps five checkpoints and
// its steps give the loss and the learning rate alone.
func TestTrainDefaults(t *testing.T) {
	m := loadLinear(t)
	dir := t.TempDir()
	o := &estimator.TrainOptions{Objective: regression(), CheckpointEvery: 1}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		if got := slices.Sorted(maps.Keys(s.Scalars)); !slices.Equal(got, []string{"learning_rate", "loss"}) {
			t.Errorf("scalars %q", got)
		}
		if got := s.Gradients(); got != nil {
			t.Errorf("gradients that nobody asked for: %v", got)
		}
		return nil
	}
	r, err := estimator.Train(t.Context(), m, plane(7), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Reason != estimator.EndedByData || r.Step != 7 || r.Examples != 28 || r.Evaluation != nil {
		t.Errorf("result %+v", r)
	}
	steps, err := checkpoint.Steps(dir)
	if diff := cmp.Diff([]int64{3, 4, 5, 6, 7}, steps); diff != "" || err != nil {
		t.Errorf("checkpoints %v (-want +got)\n%s", err, diff)
	}
	c, err := checkpoint.Load(dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Variables {
		if v.Name != checkpoint.SaveCounter {
			continue
		}
		read, err := checkpoint.ReadTensors(c.Prefix, spec(v.TensorSpec))
		if err != nil {
			t.Fatal(err)
		}
		defer read[0].Close()
		if n, err := tfbridge.View[int64](read[0]); err != nil || n[0] != 7 {
			t.Errorf("the seventh checkpoint counts %v, %v", n, err)
		}
	}
}

// A failed join is the error of the training, and nothing is written.
func TestTrainThatCannotBegin(t *testing.T) {
	m := loadLinear(t)
	labels := regression()
	labels.Labels = "nothing"
	evaluate := func(list ...estimator.Metric) *estimator.EvaluateOptions {
		return &estimator.EvaluateOptions{Metrics: list}
	}
	for want, o := range map[string]*estimator.TrainOptions{
		`"nothing"`:      {Objective: labels},
		`"train"`:        {},
		`"gone"`:         {Objective: regression(), Signature: "gone"},
		`metric "depth"`: {Objective: regression(), Evaluate: evaluate(estimator.Metric{Name: "depth", Spec: metrics.Spec{Type: metrics.Accuracy}})},
		`keep "labels"`: {Objective: regression(), Evaluate: evaluate(estimator.Metric{
			Name: "a", Spec: metrics.Spec{Type: metrics.MeanSquaredError}, Labels: "labels", Predictions: "y"})},
	} {
		dir := t.TempDir()
		var held estimator.Source
		if o.Evaluate != nil {
			held = plane(1)
		}
		r, err := estimator.TrainAndEvaluate(t.Context(), m, plane(3), held, dir, o)
		if r != nil || !errors.Is(err, millrace.ErrConfig) && !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v\nwant %s", r, err, want)
		}
		if steps, err := checkpoint.Steps(dir); err != nil || len(steps) > 0 {
			t.Errorf("%s: checkpoints of steps %v, %v", want, steps, err)
		}
	}
}

// A step gives only the requested outputs.
func TestOutputsOfSteps(t *testing.T) {
	m := loadLinear(t)
	for _, outputs := range [][]string{nil, {"y"}} {
		p, err := m.Join(t.Context(), plane(1), &estimator.JoinOptions{Objective: regression(), Outputs: outputs, Keep: []string{"label"}})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range p.Run(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			want := append([]string{"label", "learning_rate", "loss"}, outputs...)
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(b.Names()))); diff != "" {
				t.Errorf("outputs %q (-want +got)\n%s", outputs, diff)
			}
		}
	}
	for want, o := range map[string]*estimator.JoinOptions{
		`keep "nothing": the source has no tensor`: {Keep: []string{"nothing"}},
		`keep "label": given twice`:                {Keep: []string{"label", "label"}},
		`keep "y"`:                                 {Keep: []string{"y"}},
	} {
		if _, err := m.Join(t.Context(), plane(1), o); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
