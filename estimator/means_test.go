package estimator_test

import (
	"maps"
	"slices"
	"testing"

	"millrace/estimator"
)

// A logged loss is the mean over the steps since the previous logged one, even if the
// training was interrupted between them. The learning rate is the one in the last step.
func TestLoggedMeans(t *testing.T) {
	losses, logged := []float64{}, map[string]map[int64]float64{}
	for _, stops := range [][]int64{{8}, {6, 8}} {
		dir, name := t.TempDir(), "whole"
		if len(stops) > 1 {
			name = "stopped"
		}
		logged[name] = map[int64]float64{}
		for _, stop := range stops {
			o := &estimator.TrainOptions{Objective: regression(), Steps: stop, LogEvery: 4}
			o.Hooks.AfterStep = func(s *estimator.Step) error {
				if name == "whole" {
					losses = append(losses, s.Loss)
				}
				return nil
			}
			o.Hooks.Logged = func(p *estimator.Progress) error {
				logged[name][p.Step] = p.Means["loss"]
				if _, ok := p.Means["learning_rate"]; ok {
					t.Error("a mean of learning rates")
				}
				return nil
			}
			if _, err := estimator.Train(t.Context(), loadLinear(t), plane(20), dir, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[int64]float64{}
	for i, chunk := range slices.Collect(slices.Chunk(losses, 4)) {
		want[int64(4*i+4)] = (chunk[0]*4 + chunk[1]*4 + chunk[2]*4 + chunk[3]*4) / 16
	}
	for name, got := range logged {
		if !maps.Equal(got, want) {
			t.Errorf("%s: means %v, want %v of %v", name, got, want, losses)
		}
	}
}
