package metrics_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator/metrics"
)

func floats(shape []int64, v ...float64) *metrics.Array {
	return &metrics.Array{Shape: shape, Values: v}
}

func whole(shape []int64, v ...float64) *metrics.Array {
	return &metrics.Array{Shape: shape, Values: v, Whole: true}
}

type shape = []int64

// The values are from Keras's documentation, or computed by hand. Each batch is also
// given in two parts, which must give the same result.
func TestMetrics(t *testing.T) {
	scores := floats(shape{3, 3}, 0.1, 0.5, 0.4, 0.2, 0.6, 0.2, 0.3, 0.1, 0.6)
	tests := []struct {
		name  string
		spec  metrics.Spec
		batch metrics.Batch
		want  float64
	}{
		{"scores", metrics.Spec{Type: metrics.Accuracy}, metrics.Batch{Labels: whole(shape{3}, 1, 0, 2), Predictions: scores}, 2.0 / 3},
		{"weights", metrics.Spec{Type: metrics.Accuracy}, metrics.Batch{Labels: whole(shape{3}, 1, 0, 2), Predictions: scores, Weights: floats(shape{3}, 1, 2, 1)}, 0.5},
		{"column of labels", metrics.Spec{Type: metrics.Accuracy}, metrics.Batch{Labels: whole(shape{3, 1}, 1, 0, 2), Predictions: scores}, 2.0 / 3},
		{"classes", metrics.Spec{Type: metrics.Accuracy}, metrics.Batch{Labels: whole(shape{4}, 1, 2, 3, 4), Predictions: whole(shape{4}, 0, 2, 3, 4)}, 0.75},
		{"sequences", metrics.Spec{Type: metrics.Accuracy}, metrics.Batch{Labels: whole(shape{1, 3}, 1, 0, 2),
			Predictions: floats(shape{1, 3, 3}, scores.Values...), Weights: floats(shape{1, 3}, 1, 0, 1)}, 1},
		{"among one", metrics.Spec{Type: metrics.TopK, K: 1}, metrics.Batch{Labels: whole(shape{3}, 2, 1, 0), Predictions: scores}, 1.0 / 3},
		{"among two", metrics.Spec{Type: metrics.TopK, K: 2}, metrics.Batch{Labels: whole(shape{3}, 2, 1, 0), Predictions: scores}, 1},
		{"precision", metrics.Spec{Type: metrics.Precision}, metrics.Batch{Labels: whole(shape{4}, 0, 1, 1, 1), Predictions: floats(shape{4}, 1, 0, 1, 1)}, 2.0 / 3},
		{"recall", metrics.Spec{Type: metrics.Recall}, metrics.Batch{Labels: whole(shape{4}, 0, 1, 1, 1), Predictions: floats(shape{4}, 1, 0, 1, 0.4)}, 1.0 / 3},
		{"auc", metrics.Spec{Type: metrics.AUC}, metrics.Batch{Labels: whole(shape{4}, 0, 0, 1, 1), Predictions: floats(shape{4}, 0, 0.5, 0.3, 0.9)}, 0.75},
		{"column of predictions", metrics.Spec{Type: metrics.F1Score}, metrics.Batch{Labels: whole(shape{3}, 1, 0, 1), Predictions: floats(shape{3, 1}, 0.9, 0.2, 0.8)}, 1},
		{"mean", metrics.Spec{Type: metrics.Mean}, metrics.Batch{Predictions: floats(shape{4}, 1, 3, 5, 7)}, 4},
		{"squares", metrics.Spec{Type: metrics.MeanSquaredError}, metrics.Batch{Labels: floats(shape{2, 2}, 0, 1, 0, 0), Predictions: floats(shape{2, 2}, 1, 1, 0, 0)}, 0.25},
		{"absolute", metrics.Spec{Type: metrics.MeanAbsoluteError}, metrics.Batch{Labels: floats(shape{2, 2}, 0, 1, 0, 0), Predictions: floats(shape{2, 2}, 1, 1, 0, 0), Weights: floats(shape{2}, 1, 0)}, 0.5},
		{"logits", metrics.Spec{Type: metrics.Perplexity}, metrics.Batch{Labels: whole(shape{2}, 0, 3), Predictions: floats(shape{2, 4}, 7, 7, 7, 7, 0, 0, 0, 0)}, 4},
		{"probabilities", metrics.Spec{Type: metrics.Perplexity, Probabilities: true}, metrics.Batch{Labels: whole(shape{2}, 0, 1),
			Predictions: floats(shape{2, 2}, 0.25, 0.75, 0.75, 0.25), Weights: floats(shape{2}, 1, 1)}, 4},
	}
	for _, tt := range tests {
		t.Run(string(tt.spec.Type)+"/"+tt.name, func(t *testing.T) {
			m, err := metrics.New(&tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Result().Number; tt.spec.Type != metrics.Precision && tt.spec.Type != metrics.Recall && tt.spec.Type != metrics.F1Score && !math.IsNaN(got) {
				t.Errorf("of nothing: %v", got)
			}
			for range 2 { // the same again changes no mean
				if err := m.Add(&tt.batch); err != nil {
					t.Fatal(err)
				}
			}
			if got := m.Result().Number; math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// All metrics but the mean compare with labels.
func TestNeedsLabels(t *testing.T) {
	for _, kind := range metrics.Types {
		if got := kind.NeedsLabels(); got != (kind != metrics.Mean) {
			t.Errorf("%s needs labels: %v", kind, got)
		}
	}
}

// A confusion matrix has labels as rows, and grows.
func TestConfusionMatrix(t *testing.T) {
	m, err := metrics.New(&metrics.Spec{Type: metrics.ConfusionMatrix})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []metrics.Batch{
		{Labels: whole(shape{2}, 0, 1), Predictions: whole(shape{2}, 0, 0)},
		{Labels: whole(shape{2}, 1, 2), Predictions: whole(shape{2}, 1, 1)},
	} {
		if err := m.Add(&b); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(m.Result())
	if want := `[[1,0,0],[1,1,0],[0,1,0]]`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}

// Labels out of range and shapes that do not fit are errors and cause no panic.
func TestRefusedBatches(t *testing.T) {
	scores := floats(shape{2, 3}, 1, 2, 3, 4, 5, 6)
	tests := map[string]struct {
		kind  metrics.Type
		batch metrics.Batch
	}{
		"label too large":  {metrics.TopK, metrics.Batch{Labels: whole(shape{2}, 0, 3), Predictions: scores}},
		"negative label":   {metrics.Perplexity, metrics.Batch{Labels: whole(shape{2}, 0, -1), Predictions: scores}},
		"other rows":       {metrics.Accuracy, metrics.Batch{Labels: whole(shape{3}, 0, 1, 2), Predictions: scores}},
		"other elements":   {metrics.MeanSquaredError, metrics.Batch{Labels: floats(shape{3}, 0, 1, 2), Predictions: floats(shape{2}, 0, 1)}},
		"other weights":    {metrics.Accuracy, metrics.Batch{Labels: whole(shape{2}, 0, 1), Predictions: scores, Weights: floats(shape{3}, 1, 1, 1)}},
		"class too large":  {metrics.ConfusionMatrix, metrics.Batch{Labels: whole(shape{1}, 1e6), Predictions: whole(shape{1}, 0)}},
		"scores are whole": {metrics.Accuracy, metrics.Batch{Labels: whole(shape{2}, 0, 1), Predictions: whole(shape{2, 3}, 1, 2, 3, 4, 5, 6)}},
	}
	for name, tt := range tests {
		m, err := metrics.New(&metrics.Spec{Type: tt.kind})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(&tt.batch); !errors.Is(err, millrace.ErrModel) && !errors.Is(err, millrace.ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := metrics.New(&metrics.Spec{Type: "acuracy"}); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("an unknown metric: %v", err)
	}
}

// A label to which the prediction gives no probability at all counts with 1e-7, and one
// that is certain with 1-1e-7, as with Keras: no batch makes the mean infinite.
func TestPerplexityOfExtremes(t *testing.T) {
	for label, want := range map[float64]float64{0: 1e7, 1: 1 / (1 - 1e-7)} {
		m, err := metrics.New(&metrics.Spec{Type: metrics.Perplexity, Probabilities: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(&metrics.Batch{Labels: whole(shape{1}, label), Predictions: floats(shape{1, 2}, 0, 1)}); err != nil {
			t.Fatal(err)
		}
		if got := m.Result().Number; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("label %v: got %v, want %v", label, got, want)
		}
	}
}

// A matrix of classes with names has the figures of each class, as sklearn's
// classification_report has them, and a number for each class beyond the names.
func TestNamedClasses(t *testing.T) {
	m, err := metrics.New(&metrics.Spec{Type: metrics.ConfusionMatrix, Classes: []string{"cat", "dog"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m.Result())
	if want := `{"classes":["cat","dog"],"matrix":[[0,0],[0,0]],"per_class":[`; err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("without a batch: %s, %v", text, err)
	}
	if err := m.Add(&metrics.Batch{Labels: whole(shape{6}, 0, 0, 0, 1, 1, 2), Predictions: whole(shape{6}, 0, 0, 1, 1, 2, 1)}); err != nil {
		t.Fatal(err)
	}
	want := []metrics.ClassFigures{
		{Name: "cat", Precision: 1, Recall: 2.0 / 3, F1Score: 0.8, Examples: 3},
		{Name: "dog", Precision: 1.0 / 3, Recall: 0.5, F1Score: 0.4, Examples: 2},
		{Name: "2", Examples: 1},
	}
	if got := m.Result().PerClass(); !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
