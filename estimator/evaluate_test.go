package estimator_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/metrics"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/fixture"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// An evaluation averages over examples, not batches: the last batch is smaller. Its loss
// and its metrics follow from the predictions.
func TestEvaluate(t *testing.T) {
	m := loadClassifier(t)
	data := source(t, fixture.Points(t, 1, nil)) // 8, 8 and 4 examples
	p, err := m.Join(t.Context(), data, &estimator.JoinOptions{Signature: "evaluate", Keep: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	var loss, right, examples float64
	for b, err := range p.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		loss += float64(scalar(t, b.Tensor("loss"))) * float64(b.Rows())
		scores, _ := tfbridge.View[float32](b.Tensor("scores"))
		ids, _ := tfbridge.View[int64](b.Tensor("id"))
		for i, id := range ids {
			row := scores[3*i : 3*i+3]
			if row[id] == max(row[0], row[1], row[2]) {
				right++
			}
			examples++
		}
	}
	o := &estimator.EvaluateOptions{Signature: "evaluate", Metrics: []estimator.Metric{
		{Name: "accuracy", Spec: metrics.Spec{Type: metrics.Accuracy}, Labels: "id", Predictions: "scores"},
		{Name: "weighted", Spec: metrics.Spec{Type: metrics.Mean}, Predictions: "id", Weights: "id"},
		{Name: "confusion", Spec: metrics.Spec{Type: metrics.ConfusionMatrix}, Labels: "id", Predictions: "scores"},
	}}
	e, err := estimator.Evaluate(t.Context(), m, data, o)
	if err != nil {
		t.Fatal(err)
	}
	if e.Steps != 3 || e.Examples != int64(examples) || examples != 20 || e.Duration <= 0 {
		t.Errorf("%d steps, %d examples, %v", e.Steps, e.Examples, e.Duration)
	}
	if diff := cmp.Diff([]string{"loss", "accuracy", "weighted", "confusion"}, e.Names); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
	if got := e.Values["loss"].Number; math.Abs(got-loss/examples) > 1e-6 {
		t.Errorf("loss %v, want %v", got, loss/examples)
	}
	if got := e.Values["accuracy"].Number; got != right/examples {
		t.Errorf("accuracy %v, want %v", got, right/examples)
	}
	// Classes 0, 1 and 2, each weighted by itself: 7, 7 and 6 of 20.
	if got, want := e.Values["weighted"].Number, (7.+4*6)/(7+2*6); math.Abs(got-want) > 1e-12 {
		t.Errorf("weighted mean %v, want %v", got, want)
	}
	if e.Values["confusion"].Matrix == nil {
		t.Error("no matrix")
	}
	o.Steps = 1
	if e, err := estimator.Evaluate(t.Context(), m, data, o); err != nil || e.Steps != 1 || e.Examples != 8 {
		t.Errorf("one step: %+v, %v", e, err)
	}
}

// There is a warning about values outside [0, 1], unless they are declared as logits.
func TestEvaluationWarns(t *testing.T) {
	o := &estimator.EvaluateOptions{Signature: "evaluate", Metrics: []estimator.Metric{
		{Name: "curve", Spec: metrics.Spec{Type: metrics.PRAUC}, Labels: "id", Predictions: "id"},
		{Name: "logits", Spec: metrics.Spec{Type: metrics.PRAUC, Logits: true}, Labels: "id", Predictions: "id"},
	}}
	e, err := estimator.Evaluate(t.Context(), loadClassifier(t), source(t, fixture.Points(t, 1, nil)), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`metric "curve": 6 of 20 predictions are outside [0, 1], first 2: if the model gives logits, set "from": "logits"`}
	if diff := cmp.Diff(want, e.Warnings); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
}

// Without a loss in the signature, the objective's loss is computed from the predictions,
// the labels and optional weights.
func TestEvaluateObjective(t *testing.T) {
	m := loadLinear(t)
	p, err := m.Join(t.Context(), plane(1), &estimator.JoinOptions{Keep: []string{"label"}})
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for b, err := range p.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		y, _ := tfbridge.View[float32](b.Tensor("y"))
		label, _ := tfbridge.View[float32](b.Tensor("label"))
		for i := range y {
			d := float64(y[i] - label[i])
			want += d * d / float64(len(y))
		}
	}
	lossOf := func(o *estimator.Objective) (float64, bool) {
		t.Helper()
		e, err := estimator.Evaluate(t.Context(), m, plane(2), &estimator.EvaluateOptions{Objective: o})
		if err != nil {
			t.Fatal(err)
		}
		v, ok := e.Values["loss"]
		return v.Number, ok
	}
	if got, ok := lossOf(regression()); !ok || math.Abs(got-want) > 1e-4*want {
		t.Errorf("loss %v, %v, want %v", got, ok, want)
	}
	named := regression()
	named.Predictions = "y"
	if got, ok := lossOf(named); !ok || math.Abs(got-want) > 1e-4*want {
		t.Errorf("loss of the named predictions %v, %v, want %v", got, ok, want)
	}
	for what, edit := range map[string]func(o *estimator.Objective){
		"labels":      func(o *estimator.Objective) { o.Labels = "nothing" },
		"weights":     func(o *estimator.Objective) { o.Weights = "nothing" },
		"predictions": func(o *estimator.Objective) { o.Predictions = "z" },
	} {
		o := regression()
		edit(o)
		if got, ok := lossOf(o); ok {
			t.Errorf("without %s the loss is %v", what, got)
		}
	}
	if e, err := estimator.Evaluate(t.Context(), m, plane(2), nil); err != nil || len(e.Names) != 0 || e.Steps != 2 || e.Examples != 8 {
		t.Errorf("without options: %+v, %v", e, err)
	}
}

// A loop in the model changes no variable.
func TestEvaluateLoop(t *testing.T) {
	numbers := estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 2, 6, 1) }, "n")
	o := &estimator.EvaluateOptions{Metrics: []estimator.Metric{{Name: "steps", Spec: metrics.Spec{Type: metrics.Mean}, Predictions: "steps"}}}
	e, err := estimator.Evaluate(t.Context(), load(t, "countdown", ""), numbers, o)
	if err != nil || e.Steps != 4 || e.Values["steps"].Number != 3.5 {
		t.Errorf("got %+v, %v", e, err)
	}
}

// An impossible evaluation is refused before the first batch, or its error names the
// metric.
func TestWrongEvaluations(t *testing.T) {
	m := loadClassifier(t)
	data := source(t, fixture.Points(t, 1, nil))
	metric := func(m estimator.Metric) *estimator.EvaluateOptions {
		return &estimator.EvaluateOptions{Signature: "evaluate", Metrics: []estimator.Metric{m}}
	}
	accuracy := metrics.Spec{Type: metrics.Accuracy}
	for want, tt := range map[string]struct {
		o     *estimator.EvaluateOptions
		class millrace.Class
	}{
		"not loaded for this signature":                   {&estimator.EvaluateOptions{Signature: "judge"}, millrace.ErrModel},
		"changes variables":                               {&estimator.EvaluateOptions{Signature: "train"}, millrace.ErrModel},
		`metric "a": name the labels and the predictions`: {metric(estimator.Metric{Name: "a", Spec: accuracy, Labels: "id"}), millrace.ErrConfig},
		`metric "b": name the labels`:                     {metric(estimator.Metric{Name: "b", Spec: accuracy, Predictions: "scores"}), millrace.ErrConfig},
		`keep "labels"`:                                   {metric(estimator.Metric{Name: "c", Spec: accuracy, Labels: "labels", Predictions: "scores"}), millrace.ErrConfig},
		`metric "d"`:                                      {metric(estimator.Metric{Name: "d", Spec: accuracy, Labels: "xs", Predictions: "scores"}), millrace.ErrModel},
		"there is no metric":                              {metric(estimator.Metric{Name: "e", Spec: metrics.Spec{Type: "sharpness"}, Labels: "id", Predictions: "scores"}), millrace.ErrConfig},
	} {
		e, err := estimator.NewEvaluator(t.Context(), m, data, tt.o)
		if err == nil { // the types are known with the first batch
			if want != `metric "d"` {
				t.Errorf("%s is no error before the first batch", want)
			}
			_, err = e.Run(t.Context())
		}
		if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
