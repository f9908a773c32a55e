package estimator_test

import (
	"math"
	"path/filepath"
	"testing"

	"millrace/estimator"
	"millrace/estimator/layers"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/tfbridge"
)

// twoOutputs saves a model of two outputs, and of one that is a penalty by itself.
func twoOutputs(t *testing.T) *estimator.Model {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	err := layers.Save(dir, &layers.Model{
		Features: []layers.TensorSpec{{Name: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 3)}},
		Modes:    []layers.Mode{layers.Predict},
		Function: func(n *layers.Net, features, _ layers.Tensors) *layers.Spec {
			a := layers.Dense(n, features["x"], 2, nil)
			penalty := n.Op1("Sum", nil, n.Op1("Square", nil, a), n.Const([]int32{0, 1}))
			return &layers.Spec{Predictions: layers.Tensors{"a": a, "b": layers.Dense(n, features["x"], 2, nil), "penalty": penalty}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := estimator.LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// The losses of several outputs are trained by their weighted sum, in evaluations too, and
// each is an output.
func TestSeveralLosses(t *testing.T) {
	m := twoOutputs(t)
	sgd := optimizer.NewSGD()
	sgd.LearningRate = optimizer.Constant(0.05)
	objective := &estimator.Objective{
		Loss: losses.Loss{Type: losses.MeanSquaredError}, Predictions: "a", Labels: "label", Weight: 0.5, Optimizer: sgd,
		More: []estimator.Term{
			{Loss: losses.Loss{Type: losses.LogCosh}, Predictions: "b", Labels: "label", Weight: 2},
			{Loss: losses.Loss{Type: losses.ModelOutput}, Predictions: "penalty", Weight: 0.01},
		},
	}
	evaluate := func() float64 {
		e, err := estimator.Evaluate(t.Context(), m, plane(1), &estimator.EvaluateOptions{Objective: objective})
		if err != nil {
			t.Fatal(err)
		}
		return e.Values["loss"].Number
	}
	before := evaluate()
	pipe, err := m.Join(t.Context(), plane(40), &estimator.JoinOptions{Objective: objective})
	if err != nil {
		t.Fatal(err)
	}
	var first, last float64
	for batch, err := range pipe.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		last = float64(scalar(t, batch.Tensor("loss")))
		sum := 0.5*scalar(t, batch.Tensor("a_loss")) + 2*scalar(t, batch.Tensor("b_loss")) + 0.01*scalar(t, batch.Tensor("penalty_loss"))
		if math.Abs(last-float64(sum)) > 1e-5*last {
			t.Fatalf("the loss is %v, the sum of its parts %v", last, sum)
		}
		if first == 0 {
			first = last
		}
	}
	if math.Abs(before-first) > 1e-6*first {
		t.Errorf("evaluated, the loss is %v; the training begins at %v", before, first)
	}
	if !(last < first/2) {
		t.Errorf("the loss went from %v to %v", first, last)
	}
}
