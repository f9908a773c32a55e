package metrics

import (
	"strings"
	"testing"
)

// One probability for each example is thresholded, as Keras does it; a logit is refused.
func TestAccuracyOfOneOutput(t *testing.T) {
	m, err := New(&Spec{Type: Accuracy})
	if err != nil {
		t.Fatal(err)
	}
	labels := &Array{Shape: []int64{4, 1}, Values: []float64{1, 0, 1, 0}, Whole: true}
	scores := &Array{Shape: []int64{4, 1}, Values: []float64{0.9, 0.5, 0.2, 0.1}}
	if err := m.Add(&Batch{Labels: labels, Predictions: scores}); err != nil {
		t.Fatal(err)
	}
	if got := m.Result().Number; got != 0.75 {
		t.Errorf("accuracy %v, want 0.75", got)
	}
	scores.Values[2] = -1.5
	if err := m.Add(&Batch{Labels: labels, Predictions: scores}); err == nil || !strings.Contains(err.Error(), "-1.5") {
		t.Errorf("a logit gives %v", err)
	}
}

// Where the spec says that the model gives logits, those above 0 are class 1.
func TestAccuracyOfLogits(t *testing.T) {
	m, err := New(&Spec{Type: Accuracy, Logits: true})
	if err != nil {
		t.Fatal(err)
	}
	batch := &Batch{
		Labels:      &Array{Shape: []int64{4}, Values: []float64{1, 0, 1, 0}, Whole: true},
		Predictions: &Array{Shape: []int64{4}, Values: []float64{0.1, -3, -0.1, -800}},
	}
	if err := m.Add(batch); err != nil {
		t.Fatal(err)
	}
	if got := m.Result().Number; got != 0.75 || batch.Predictions.Values[1] != -3 {
		t.Errorf("accuracy %v of %v, want 0.75", got, batch.Predictions.Values)
	}
}
