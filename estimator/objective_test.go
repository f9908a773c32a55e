package estimator_test

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// plane gives batches of x and of a label that is a linear function of it.
func plane(batches int64) estimator.Source {
	return estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 4*batches, 1).Map("plane", func(s *graph.Scope, n []tfbridge.Output) []tfbridge.Output {
			row := graph.Cast(s, graph.FloorMod(s, n[0], s.Const(int64(4))), tfbridge.Float)
			x := graph.Pack(s, []tfbridge.Output{row, graph.Sub(s, row, s.Const(float32(2))), s.Const(float32(1))}, 0)
			return []tfbridge.Output{x, graph.Mul(s, graph.Pack(s, []tfbridge.Output{row, row}, 0), s.Const([]float32{2, -1}))}
		}, nil).Batch(4, true)
	}, "x", "label")
}

// regression trains the linear model by squared errors.
func regression() *estimator.Objective {
	adam := optimizer.NewAdam()
	adam.LearningRate = optimizer.Constant(0.1)
	return &estimator.Objective{Loss: losses.Loss{Type: losses.MeanSquaredError}, Labels: "label", Optimizer: adam}
}

func loadLinear(t *testing.T) *estimator.Model {
	t.Helper()
	m, err := estimator.LoadModel("../testdata/models/linear", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// A model that was exported for prediction learns, and its other pipelines see the
// trained variables.
func TestObjective(t *testing.T) {
	m := loadLinear(t)
	before, err := m.Join(t.Context(), plane(1), &estimator.JoinOptions{Keep: []string{"label"}})
	if err != nil {
		t.Fatal(err)
	}
	train, err := m.Join(t.Context(), plane(300), &estimator.JoinOptions{Objective: regression(), Outputs: []string{"y"}})
	if err != nil {
		t.Fatal(err)
	}
	var first, last float32
	steps := 0
	for b, err := range train.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		last = scalar(t, b.Tensor("loss"))
		if steps++; steps == 1 {
			first = last
		}
		if rate := scalar(t, b.Tensor("learning_rate")); rate != 0.1 {
			t.Fatalf("the learning rate is %v", rate)
		}
		if y := b.Tensor("y"); y == nil || y.Shape()[0] != 4 {
			t.Fatal("no output y of four rows")
		}
	}
	if steps != 300 || !(last < first/1000) {
		t.Errorf("after %d steps the loss is %v, at first %v", steps, last, first)
	}
	for b, err := range before.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		y, _ := tfbridge.View[float32](b.Tensor("y"))
		label, _ := tfbridge.View[float32](b.Tensor("label"))
		for i := range y {
			if d := y[i] - label[i]; d*d > first/10 {
				t.Errorf("prediction %v for %v", y, label)
				break
			}
		}
	}
}

func scalar(t *testing.T, x *tfbridge.Tensor) float32 {
	t.Helper()
	v, err := tfbridge.View[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// An objective that does not fit the model or the source is an immediate error.
func TestWrongObjective(t *testing.T) {
	tests := map[string]func(o *estimator.Objective){
		`"labels"`:                    func(o *estimator.Objective) { o.Labels = "labels" },
		`"rows"`:                      func(o *estimator.Objective) { o.Weights = "rows" },
		`"z": is no output`:           func(o *estimator.Objective) { o.Predictions = "z" },
		"there is nothing to train":   func(o *estimator.Objective) { o.Variables = []string{"encoder/*"} },
		`models/linear: signature "`:  func(o *estimator.Objective) { o.Variables = []string{"encoder/*"} },
		`"[" is not a pattern`:        func(o *estimator.Objective) { o.Variables = []string{"["} },
		"there is no loss margin":     func(o *estimator.Objective) { o.Loss.Type = "margin" },
		"clip_norm is -1":             func(o *estimator.Objective) { o.ClipNorm = -1 },
		"a loss and an optimizer are": func(o *estimator.Objective) { o.Optimizer = nil },
	}
	m := loadLinear(t)
	for want, edit := range tests {
		o := regression()
		edit(o)
		_, err := m.Join(t.Context(), plane(1), &estimator.JoinOptions{Objective: o})
		if !errors.Is(err, millrace.ErrConfig) && !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	o := regression()
	o.Variables = []string{"b*"}
	if _, err := m.Join(t.Context(), plane(1), &estimator.JoinOptions{Objective: o}); err != nil {
		t.Error(err)
	}
}
