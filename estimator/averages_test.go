package estimator_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"millrace/dtype"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/export"
	"millrace/estimator/optimizer"
	"millrace/tfbridge"
)

// averaging trains the linear model by an optimizer that keeps averages, accumulates
// gradients and has a slot that belongs to no variable.
func averaging() *estimator.Objective {
	o := regression()
	nadam := optimizer.NewNadam()
	nadam.LearningRate = &optimizer.ReduceLROnPlateau{InitialLearningRate: 0.2, Factor: 0.5}
	nadam.UseEMA, nadam.EMAMomentum, nadam.GradientAccumulationSteps = true, 0.8, 2
	o.Optimizer = nadam
	return o
}

// trainTo trains in dir up to a step.
func trainTo(t *testing.T, dir string, step int64, objective *estimator.Objective, hooks estimator.Hooks) *estimator.TrainResult {
	t.Helper()
	m := loadLinear(t)
	result, err := estimator.TrainAndEvaluate(t.Context(), m, plane(20), plane(1), dir, &estimator.TrainOptions{
		Objective: objective, Steps: step, CheckpointEvery: 3, EvaluateEvery: 5, Evaluate: &estimator.EvaluateOptions{Objective: objective},
		Plateau: &estimator.Plateau{Stop: estimator.Stop{Best: estimator.Best{Metric: "loss"}, Patience: 1}}, // more is better: it never is
		Hooks:   hooks,
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// values reads tensors of a checkpoint as floats.
func values(t *testing.T, c *checkpoint.Checkpoint, specs []dtype.TensorSpec) [][]float32 {
	t.Helper()
	read, err := checkpoint.ReadTensors(c.Prefix, specs)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]float32
	for _, r := range read {
		v, err := tfbridge.View[float32](r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, append([]float32(nil), v...))
		r.Close()
	}
	return all
}

// Evaluations between steps, evaluations of a checkpoint and exports use the averages of
// the variables; the training goes on with the variables themselves.
func TestAverages(t *testing.T) {
	dir := t.TempDir()
	var notes []string
	result := trainTo(t, dir, 12, averaging(), estimator.Hooks{Note: func(text string) { notes = append(notes, text) }})
	c, _, err := checkpoint.Newest(dir)
	if err != nil {
		t.Fatal(err)
	}
	specs := []dtype.TensorSpec{{Name: "w/.ATTRIBUTES/VARIABLE_VALUE", DType: dtype.Float, Shape: dtype.MakeShape(3, 2)}}
	raw, averaged := values(t, c, specs)[0], values(t, c, c.Weights(specs))[0]
	if raw[0] == averaged[0] {
		t.Fatalf("the average is the variable itself, %v, of %v", raw, c.Info.Averages)
	}
	m := loadLinear(t)
	if err := m.RestoreChecked(c); err != nil {
		t.Fatal(err)
	}
	e, err := estimator.Evaluate(context.Background(), m, plane(1), &estimator.EvaluateOptions{Objective: averaging()})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.Values["loss"].Number, result.Evaluation.Values["loss"].Number; got != want {
		t.Errorf("evaluated from the checkpoint the loss is %v, in the training it was %v", got, want)
	}
	out := filepath.Join(t.TempDir(), "export")
	if err := export.Write("../testdata/models/linear", c, out); err != nil {
		t.Fatal(err)
	}
	exported, err := checkpoint.LoadPrefix(filepath.Join(out, "variables/variables"))
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, exported, specs)[0]; got[0] != averaged[0] {
		t.Errorf("exported %v, want the average %v", got, averaged)
	}
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "the learning rate falls from 0.2 to 0.1") {
		t.Errorf("notes %q", all)
	}
}

// A training that was interrupted in the middle of an accumulation ends in the same bits.
func TestAveragesResumed(t *testing.T) {
	whole, parts := t.TempDir(), t.TempDir()
	trainTo(t, whole, 12, averaging(), estimator.Hooks{})
	trainTo(t, parts, 5, averaging(), estimator.Hooks{})
	trainTo(t, parts, 12, averaging(), estimator.Hooks{})
	a, _, err := checkpoint.Newest(whole)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := checkpoint.Newest(parts)
	if err != nil {
		t.Fatal(err)
	}
	var specs []dtype.TensorSpec
	for _, v := range a.Variables {
		if v.DType == dtype.Float {
			specs = append(specs, v.TensorSpec)
		}
	}
	if len(specs) < 11 { // two variables with five slots each, and the learning rate
		t.Errorf("the checkpoint has %v", specs)
	}
	want, got := values(t, a, specs), values(t, b, specs)
	for i := range specs {
		for k := range want[i] {
			if math.Float32bits(want[i][k]) != math.Float32bits(got[i][k]) {
				t.Errorf("%s: %v, without interruption %v", specs[i].Name, got[i], want[i])
				break
			}
		}
	}
}
