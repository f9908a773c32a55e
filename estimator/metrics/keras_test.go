package metrics_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"millrace/estimator/metrics"
)

// Each metric has the same value as Keras's, over several batches. testdata/record.py
// wrote the values.
func TestKeras(t *testing.T) {
	data, err := os.ReadFile("testdata/keras.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Spec    metrics.Spec
		Batches []metrics.Batch
		Value   *float64 // nil: NaN
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		t.Run(fmt.Sprintf("%d_%s", i, r.Spec.Type), func(t *testing.T) {
			m, err := metrics.New(&r.Spec)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range r.Batches {
				if err := m.Add(&b); err != nil {
					t.Fatal(err)
				}
			}
			got := m.Result().Number
			if r.Value == nil {
				if !math.IsNaN(got) {
					t.Errorf("got %v, Keras has NaN", got)
				}
				return
			}
			if want := *r.Value; !(math.Abs(got-want) <= 2e-6*math.Max(1, math.Abs(want))) {
				t.Errorf("%+v: got %v, Keras has %v", r.Spec, got, want)
			}
		})
	}
}

// There is a warning about predictions outside [0, 1], unless they are declared as
// logits or only compared with each other.
func TestWarning(t *testing.T) {
	batch := &metrics.Batch{Labels: whole(shape{2, 2}, 0, 1, 1, 0), Predictions: floats(shape{2, 2}, 0.5, -1.5, 1, 3)}
	tests := []struct {
		spec metrics.Spec
		want string
	}{
		{metrics.Spec{Type: metrics.AUC}, `2 of 4 predictions are outside [0, 1], first -1.5: if the model gives logits, set "from": "logits"`},
		{metrics.Spec{Type: metrics.F1Score, Threshold: 0.5}, `2 of 4 predictions are outside [0, 1], first -1.5: if the model gives logits, set "from": "logits"`},
		{metrics.Spec{Type: metrics.F1Score}, ""},
		{metrics.Spec{Type: metrics.AUC, Logits: true}, ""},
		{metrics.Spec{Type: metrics.MeanSquaredError}, ""},
	}
	for _, tt := range tests {
		m, err := metrics.New(&tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(batch); err != nil {
			t.Fatal(err)
		}
		got := ""
		if w, ok := m.(metrics.Warner); ok {
			got = w.Warning()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.spec, got, tt.want)
		}
	}
}

// Invalid options are refused.
func TestRefusedSpecs(t *testing.T) {
	for _, s := range []metrics.Spec{
		{Type: metrics.PrecisionAtRecall}, {Type: metrics.PrecisionAtRecall, Recall: 1.5}, {Type: metrics.F1Score, Average: "median"},
	} {
		if _, err := metrics.New(&s); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// Labels that are all the same have no variance, whatever the rounding of their weights:
// the score is 0, and not a large negative number.
func TestR2OfConstantLabels(t *testing.T) {
	for i := range 50 {
		m, err := metrics.New(&metrics.Spec{Type: metrics.R2Score})
		if err != nil {
			t.Fatal(err)
		}
		w := 0.1 + float64(i)/7
		if err := m.Add(&metrics.Batch{
			Labels: floats(shape{3}, 0.1, 0.1, 0.1), Predictions: floats(shape{3}, 0, 0.1, 0.3), Weights: floats(shape{3}, w, 2*w, 1/w),
		}); err != nil {
			t.Fatal(err)
		}
		if got := m.Result().Number; got != 0 {
			t.Errorf("weights of %v: %v, want 0", w, got)
		}
	}
}
