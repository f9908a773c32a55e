package estimator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/dtype"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/optimizer"
)

// phase trains the linear model in dir up to a step. patterns select the trained
// variables; a plateau may lower rate.
func phase(t *testing.T, dir string, step int64, rate float64, patterns, allowed []string) (rates []float64, notes []string, err error) {
	t.Helper()
	o := regression()
	adam := optimizer.NewAdam()
	adam.UseEMA, adam.EMAMomentum = true, 0.75
	adam.LearningRate = &optimizer.ReduceLROnPlateau{InitialLearningRate: rate, Factor: 0.5}
	o.Optimizer, o.Variables = adam, patterns
	hooks := estimator.Hooks{Note: func(text string) { notes = append(notes, text) }}
	hooks.AfterStep = func(s *estimator.Step) error {
		rates = append(rates, s.Scalars["learning_rate"])
		return nil
	}
	_, err = estimator.TrainAndEvaluate(t.Context(), loadLinear(t), plane(20), plane(1), dir, &estimator.TrainOptions{
		Objective: o, Steps: step, CheckpointEvery: 1, EvaluateEvery: 2, Evaluate: &estimator.EvaluateOptions{Objective: o},
		Plateau: &estimator.Plateau{Stop: estimator.Stop{Best: estimator.Best{Metric: "loss"}, Patience: 1}}, // more is better: it never is
		Job:     map[string]string{"learning_rate": "rate " + map[float64]string{0.5: "0.5", 2: "2"}[rate]}, FreeKeys: []string{"learning_rate"},
		AllowChanged: allowed, Hooks: hooks,
	})
	return rates, notes, err
}

// First one variable is trained, then both, in one folder: trained variables keep their
// slots, new ones begin with initial slots, and a new learning rate replaces one that a
// plateau has lowered.
func TestPhases(t *testing.T) {
	dir, alone := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, alone} {
		if rates, _, err := phase(t, d, 5, 0.5, []string{"w"}, nil); err != nil || rates[4] >= 0.5 {
			t.Fatalf("rates %v, %v", rates, err)
		}
	}
	const refused = "variables was w and now is all that are trainable"
	if _, _, err := phase(t, dir, 6, 0.5, nil, nil); !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(err.Error(), refused+"; name another folder, or allow it with --allow-changed variables") {
		t.Errorf("other variables: %v", err)
	}
	if _, _, err := phase(t, dir, 6, 0.5, nil, []string{"varaibles"}); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), `did you mean "variables"?`) {
		t.Errorf("an unknown key: %v", err)
	}
	rates, notes, err := phase(t, dir, 6, 2, nil, []string{"variables"})
	if err != nil || rates[0] != 2 {
		t.Fatalf("rates %v, %v", rates, err)
	}
	for _, want := range []string{
		"although learning_rate was rate 0.5 and now is rate 2", "although " + refused,
		"3 slots of the optimizer begin as in a new training: adam/b_momentum, adam/b_velocity, adam/b_average",
	} {
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no note has %q: %q", want, notes)
		}
	}
	if _, _, err := phase(t, alone, 6, 2, []string{"w"}, nil); err != nil {
		t.Fatal(err)
	}
	names := []string{"w/.ATTRIBUTES/VARIABLE_VALUE", "adam/w_momentum", "b/.ATTRIBUTES/VARIABLE_VALUE", "adam/b_average"}
	before, both, one := named(t, dir, 5, names[:3]), named(t, dir, 6, names), named(t, alone, 6, names[:3])
	if !slices.Equal(both[0], one[0]) || !slices.Equal(both[1], one[1]) {
		t.Errorf("after one step of both variables the first is %v with momentum %v; trained alone %v and %v", both[0], both[1], one[0], one[1])
	}
	if b := both[2]; slices.Equal(b, before[2]) || both[3][0] != 0.75*before[2][0]+0.25*b[0] {
		t.Errorf("the second variable was %v and is %v, with the average %v", before[2], b, both[3])
	}
}

// named reads tensors of the checkpoint of a step.
func named(t *testing.T, dir string, step int64, names []string) [][]float32 {
	t.Helper()
	c, err := checkpoint.Load(dir, step)
	if err != nil {
		t.Fatal(err)
	}
	var specs []dtype.TensorSpec
	for _, name := range names {
		spec, ok := c.Tensor(name)
		if !ok {
			t.Fatalf("the checkpoint has no %s: %v", name, c.Variables)
		}
		specs = append(specs, spec)
	}
	return values(t, c, specs)
}
