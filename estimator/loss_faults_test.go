package estimator_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// The error of a loss that is not finite says which step and which examples it
// comes from.
func TestLossThatIsNotFinite(t *testing.T) {
	for want, label := range map[string]float32{"NaN": float32(math.NaN()), "+Inf": float32(math.Inf(1))} {
		data := estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromColumns(s, map[string][]float32{"label": {1, 1, 1, 1, label}}).Map("row", func(s *graph.Scope, l []tfbridge.Output) []tfbridge.Output {
				return []tfbridge.Output{s.Const([]float32{1, 2, 3}), graph.Pack(s, []tfbridge.Output{l[0], l[0]}, 0)}
			}, nil).Batch(2, false)
		}, "x", "label")
		m := loadLinear(t)
		r, err := estimator.Train(t.Context(), m, data, t.TempDir(), &estimator.TrainOptions{Objective: regression()})
		var e *millrace.Error
		text := "step 3: the loss is " + want + ", in a batch of 1 examples, number 5 to 5 of the training; the checkpoint before it is untouched"
		if !errors.As(err, &e) || e.Class != millrace.ErrModel || e.Msg != text || e.File != modelDir("linear") || e.Signature != "serving_default" || e.Tensor != "loss" {
			t.Errorf("got %v\nwant %s", err, text)
		}
		if r == nil || r.Step != 3 || !(math.IsNaN(r.Loss) || math.IsInf(r.Loss, 1)) {
			t.Errorf("result %+v", r)
		}
	}
}

// The error of a metric names the model and the signature.
func TestMetricThatDoesNotFit(t *testing.T) {
	m := loadLinear(t)
	for _, name := range []string{"labels", "predictions", "weights"} {
		o := level()
		metric := &o.Metrics[0]
		words := estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromTensors(s, s.Const([][]float32{{1, 2, 3}}), s.Const([]string{"word"}), s.Const([]float32{1}))
		}, "x", "word", "label")
		metric.Labels, metric.Weights = "label", "label"
		switch name {
		case "labels":
			metric.Labels = "word"
		case "predictions":
			metric.Predictions = "word"
		case "weights":
			metric.Weights = "word"
		}
		_, err := estimator.Evaluate(t.Context(), m, words, o)
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrModel || e.File != modelDir("linear") || e.Signature != "serving_default" || !strings.HasPrefix(e.Msg, `metric "level": `) {
			t.Errorf("%s that are words: %v", name, err)
		}
	}
	e, err := estimator.Evaluate(t.Context(), m, plane(2), level())
	if err != nil || e.Duration <= 0 || e.Steps != 2 || e.Examples != 8 {
		t.Errorf("got %+v, %v", e, err)
	}
}
