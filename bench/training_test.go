package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/estimator/events"
	"millrace/tfrecord/example"
)

// trained returns a round of training in which Millrace is f times as fast as the
// targets require.
func trained(f float64) map[string]*trainRound {
	all := map[string]*trainRound{}
	for _, k := range trainKinds {
		all[k.name] = &trainRound{
			Ours: trainRate{1500 * f, 0.5}, Checkpoints: trainRate{1500 * f * f, 0.5}, Arithmetic: trainRate{4000, 0},
			Loop: trainRate{1150, 0.5}, Fit: trainRate{1000, 0.5}, FitSeveral: trainRate{1100, 0.5},
		}
	}
	return all
}

// Training is compared with the given targets, and with lower ones where the model's
// arithmetic leaves no room for a gain.
func TestTrainRows(t *testing.T) {
	verdicts := func(rounds ...round) (met, missed int, text string) {
		var out strings.Builder
		table(&out, rounds, trainRows(rounds))
		return strings.Count(out.String(), "PASS"), strings.Count(out.String(), "below target"), out.String()
	}
	if met, missed, text := verdicts(round{Training: trained(1.01)}); met != 7 || missed != 0 {
		t.Errorf("just reached:\n%s", text)
	}
	if met, missed, text := verdicts(round{Training: trained(0.97)}); met != 0 || missed != 7 {
		t.Errorf("missed:\n%s", text)
	}
	bound := trained(0.9)
	bound["lstm"].Arithmetic.StepsPerS = 1250
	met, missed, text := verdicts(round{Training: bound})
	if met != 2 || missed != 5 || strings.Count(text, "arithmetic is nearly all") != 2 {
		t.Errorf("an LSTM that is all arithmetic:\n%s", text)
	}
}

// Sides that trained different models are not compared.
func TestTrainRoundCheck(t *testing.T) {
	for name, change := range map[string]func(r *trainRound){
		"":               func(*trainRound) {},
		"loop":           func(r *trainRound) { r.Loop.Loss += 0.0011 },
		"fit":            func(r *trainRound) { r.Fit.Loss -= 0.0011 },
		"several":        func(r *trainRound) { r.FitSeveral.Loss -= 0.0011 },
		"no checkpoints": func(r *trainRound) { r.Checkpoints = trainRate{} },
	} {
		r := trained(1)["dense"]
		change(r)
		err := r.check(trainKind{checkpoints: name != "no checkpoints"})
		if (err != nil) != slices.Contains([]string{"loop", "fit", "several"}, name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The rate is computed from the times of the events, which must exist.
func TestLoggedRate(t *testing.T) {
	dir := t.TempDir()
	w, err := events.Create(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for step := range int64(3) {
		if err := w.Scalars(50*(step+1), map[string]float64{"loss": 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if rate, err := loggedRate(dir, 50); err != nil || rate <= 0 {
		t.Errorf("%g, %v", rate, err)
	}
	for _, from := range []int64{150, 60} {
		if rate, err := loggedRate(dir, from); err == nil {
			t.Errorf("from step %d: %g", from, rate)
		}
	}
	if err := os.Remove(onlyFile(t, dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := loggedRate(dir, 50); err == nil {
		t.Error("a rate of no events")
	}
}

func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// A label can be learnt from its record.
func TestLabelled(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	labels := map[int64]bool{}
	for range 200 {
		features, err := example.Parse(labelled(rng))
		if err != nil {
			t.Fatal(err)
		}
		x, _ := features.Get("x")
		y, _ := features.Get("y")
		labels[y.Ints[0]] = true
		if largest := slices.Max(x.Floats[:trainClasses]); x.Floats[y.Ints[0]] != largest {
			t.Fatalf("label %d, and the largest of %v is %g", y.Ints[0], x.Floats[:trainClasses], largest)
		}
	}
	if len(labels) != trainClasses {
		t.Errorf("%d labels, want %d", len(labels), trainClasses)
	}
}
