package estimator_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/estimator"
	"millrace/internal/base/tfproto"

	"github.com/google/go-cmp/cmp"
)

// A rate over no time is 0, and a share is at most 1.
func TestProgressRates(t *testing.T) {
	for _, tt := range []struct {
		p    estimator.Progress
		want [3]float64 // steps and examples per second, share of the input
	}{
		{estimator.Progress{}, [3]float64{}},
		{estimator.Progress{Steps: 3, Examples: 12, InputWait: time.Second}, [3]float64{}},
		{estimator.Progress{Steps: 3, Examples: 12, Duration: 2 * time.Second, InputWait: time.Second / 2}, [3]float64{1.5, 6, 0.25}},
		{estimator.Progress{Steps: 1, Examples: 1, Duration: time.Second, InputWait: 2 * time.Second}, [3]float64{1, 1, 1}},
	} {
		if got := [3]float64{tt.p.StepsPerSecond(), tt.p.ExamplesPerSecond(), tt.p.InputShare()}; got != tt.want {
			t.Errorf("%+v: got %v, want %v", tt.p, got, tt.want)
		}
	}
}

// Hooks are called in order, and see what a step did: gradients, variables, how far
// the training is.
func TestHooks(t *testing.T) {
	m := loadLinear(t)
	var said []string
	say := func(format string, args ...any) error {
		said = append(said, fmt.Sprintf(format, args...))
		return nil
	}
	examples := int64(0)
	var weights [][]byte
	o := &estimator.TrainOptions{
		Objective: regression(), Steps: 5, LogEvery: 2, CheckpointEvery: 4, Gradients: true,
		Evaluate: &estimator.EvaluateOptions{Objective: regression()}, EvaluateEvery: 3,
		Hooks: estimator.Hooks{
			Restored:   func(step int64) error { return say("restored %d", step) },
			BeforeStep: func(step int64) error { return say("before %d", step) },
			Logged: func(p *estimator.Progress) error {
				if p.Duration <= 0 || p.InputWait < 0 || p.Scalars["learning_rate"] < 0.09 || p.Scalars["loss"] != p.Loss {
					t.Errorf("progress %+v", p)
				}
				return say("logged %d: %d steps, %d examples", p.Step, p.Steps, p.Examples)
			},
			Saved: func(s *estimator.Saved) error {
				if s.Bytes <= 0 || s.Duration <= 0 || s.Best || !strings.Contains(s.Prefix, fmt.Sprint(s.Step)) {
					t.Errorf("saved %+v", s)
				}
				return nil // when it is on the disk is not known
			},
			Evaluated: func(e *estimator.Evaluated) error { return say("evaluated %d of %d examples", e.Step, e.Examples) },
		},
	}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		examples += s.Batch.Rows()
		var names []string
		for _, g := range s.Gradients() {
			names = append(names, fmt.Sprint(g.Name, g.Shape()))
		}
		variables, err := s.Variables()
		if err != nil {
			return err
		}
		for _, v := range variables {
			names = append(names, fmt.Sprint(v.Name, v.Shape()))
			if v.Name == "w" {
				b, _ := v.Bytes()
				weights = append(weights, bytes.Clone(b))
			}
			v.Close()
		}
		if diff := cmp.Diff([]string{"b[2]", "w[3 2]", "w[3 2]", "b[2]"}, names); diff != "" {
			t.Errorf("gradients and variables (-want +got)\n%s", diff)
		}
		if s.Total.Steps != s.Step || s.Total.Examples != examples || s.Scalars["loss"] != s.Loss || s.Trace != nil {
			t.Errorf("step %+v, %d examples", s, examples)
		}
		return say("after %d", s.Step)
	}
	r, err := estimator.TrainAndEvaluate(t.Context(), m, plane(9), plane(2), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"restored 0", "before 1", "after 1", "before 2", "after 2", "logged 2: 2 steps, 8 examples", "before 3", "after 3",
		"evaluated 3 of 8 examples", "before 4", "after 4", "logged 4: 2 steps, 8 examples", "before 5", "after 5", "evaluated 5 of 8 examples",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.Step != 5 || r.Steps != 5 || r.Examples != 20 || r.Reason != estimator.EndedBySteps || r.Duration <= 0 || r.Evaluation == nil {
		t.Errorf("result %+v", r)
	}
	for i := 1; i < len(weights); i++ {
		if bytes.Equal(weights[i-1], weights[i]) {
			t.Errorf("step %d left the weights", i+1)
		}
	}
	if len(weights) != 5 {
		t.Errorf("%d steps told their weights", len(weights))
	}
	text, err := m.GraphDef(t.Context())
	def := &tfproto.GraphDef{}
	if err := errors.Join(err, proto.Unmarshal(text, def)); err != nil || len(def.GetNode()) < 50 {
		t.Errorf("a graph of %d nodes, %v", len(def.GetNode()), err)
	}
}

// The error of a hook ends the training with that error.
func TestHooksThatFail(t *testing.T) {
	failure := errors.New("of the hook")
	for name, hooks := range map[string]estimator.Hooks{
		"restored":  {Restored: func(int64) error { return failure }},
		"before":    {BeforeStep: func(int64) error { return failure }},
		"after":     {AfterStep: func(*estimator.Step) error { return failure }},
		"logged":    {Logged: func(*estimator.Progress) error { return failure }},
		"saved":     {Saved: func(*estimator.Saved) error { return failure }},
		"evaluated": {Evaluated: func(*estimator.Evaluated) error { return failure }},
	} {
		o := &estimator.TrainOptions{Objective: regression(), Steps: 3, LogEvery: 1, CheckpointEvery: 1, EvaluateEvery: 1, Hooks: hooks, Evaluate: &estimator.EvaluateOptions{}}
		r, err := estimator.TrainAndEvaluate(t.Context(), loadLinear(t), plane(5), plane(1), t.TempDir(), o)
		if !errors.Is(err, failure) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// Options that contradict each other are refused.
func TestWrongTrainOptions(t *testing.T) {
	m := loadLinear(t)
	evaluate := &estimator.EvaluateOptions{}
	for want, tt := range map[string]struct {
		o        estimator.TrainOptions
		evaluate estimator.Source
	}{
		"is negative":                     {estimator.TrainOptions{Steps: -1}, nil},
		"checkpoints to train, or a time": {estimator.TrainOptions{Keep: -1}, nil},
		"a number of steps":               {estimator.TrainOptions{LogEvery: -1}, nil},
		"number of steps or checkpoints":  {estimator.TrainOptions{CheckpointEvery: -1}, nil},
		"steps or checkpoints":            {estimator.TrainOptions{EvaluateEvery: -1}, nil},
		"a time, is negative":             {estimator.TrainOptions{SaveTimeout: -1}, nil},
		"give both a source":              {estimator.TrainOptions{Evaluate: evaluate}, nil},
		"TrainOptions.Evaluate":           {estimator.TrainOptions{}, plane(1)},
		"need an evaluation":              {estimator.TrainOptions{Best: &estimator.Best{Metric: "loss"}}, nil},
		"an early stop and":               {estimator.TrainOptions{Stop: &estimator.Stop{}}, nil},
		`no metric "depth"`:               {estimator.TrainOptions{Steps: 1, EvaluateEvery: 1, Evaluate: evaluate, Best: &estimator.Best{Metric: "depth"}}, plane(1)},
	} {
		tt.o.Objective = regression()
		_, err := estimator.TrainAndEvaluate(t.Context(), m, plane(3), tt.evaluate, t.TempDir(), &tt.o)
		if !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
