package layers_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/layers"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// sums classifies sequences of bits of different lengths by the parity of their sum.
func sums() *layers.Model {
	return &layers.Model{
		Features: []layers.TensorSpec{
			{Name: "bits", DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1, 4)},
			{Name: "length", DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)},
		},
		Labels: []layers.TensorSpec{{Name: "parity", DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}},
		Seed:   3,
		Function: func(n *layers.Net, features, labels layers.Tensors) *layers.Spec {
			x := layers.Embedding(n, features["bits"], 2, 4, nil)
			x = layers.LSTM(n, x, 8, &layers.RecurrentOptions{Lengths: features["length"]})
			x = layers.Dropout(n, layers.BatchNormalization(n, x, &layers.NormalizationOptions{Momentum: 0.9}), 0.05)
			logits := layers.Dense(n, x, 2, nil)
			spec := &layers.Spec{Predictions: layers.Tensors{"logits": logits}}
			if n.Mode != layers.Predict {
				loss := losses.Loss{Type: losses.SparseSoftmaxCrossEntropy}
				spec.Loss = loss.Add(n.Scope, losses.Values{Labels: labels["parity"], Predictions: logits})
				adam := optimizer.NewAdam()
				adam.LearningRate = optimizer.Constant(0.05)
				spec.Optimizer = adam
			}
			return spec
		},
	}
}

// bits gives all sequences of 4 bits with all lengths from 1 to 4, repeatedly.
func bits(batches int64) estimator.Source {
	return estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 64*batches, 1).Map("bits", func(s *graph.Scope, n []tfbridge.Output) []tfbridge.Output {
			number := graph.FloorMod(s, graph.FloorDiv(s, n[0], s.Const(int64(4))), s.Const(int64(16)))
			length := graph.Add(s, graph.FloorMod(s, n[0], s.Const(int64(4))), s.Const(int64(1)))
			row := graph.FloorMod(s, graph.FloorDiv(s, number, s.Const([]int64{1, 2, 4, 8})), s.Const(int64(2)))
			counted := graph.Cast(s, graph.Less(s, s.Const([]int64{0, 1, 2, 3}), length), tfbridge.Int64)
			parity := graph.FloorMod(s, graph.ReduceSum(s, graph.Mul(s, row, counted)), s.Const(int64(2)))
			return []tfbridge.Output{row, length, parity}
		}, nil).Batch(64, true)
	}, "bits", "length", "parity")
}

// A model built in Go is saved, loaded, trained and evaluated. All signatures show what
// it has learned.
func TestTrainSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	if err := layers.Save(dir, sums()); err != nil {
		t.Fatal(err)
	}
	m, err := estimator.LoadModel(dir, &estimator.ModelOptions{Signatures: []string{"train", "evaluate", "serving_default"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	train, evaluate := join(t, m, "train"), join(t, m, "evaluate")
	before := lastLoss(t, evaluate, 1)
	lastLoss(t, train, 100)
	after := lastLoss(t, evaluate, 1)
	if !(after < before/2) {
		t.Errorf("the loss was %v and is %v after 100 steps", before, after)
	}
	if again := lastLoss(t, evaluate, 1); again != after {
		t.Errorf("evaluating gives %v, then %v", after, again)
	}
}

// join joins a signature to all bits.
func join(t *testing.T, m *estimator.Model, signature string) *estimator.Pipeline {
	t.Helper()
	p, err := m.Join(t.Context(), bits(1<<40), &estimator.JoinOptions{Signature: signature, Outputs: []string{"loss"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lastLoss runs some steps and returns the loss of the last.
func lastLoss(t *testing.T, p *estimator.Pipeline, steps int64) float32 {
	t.Helper()
	var loss float32
	for b, err := range p.Run(t.Context(), &estimator.RunOptions{Steps: steps}) {
		if err != nil {
			t.Fatal(err)
		}
		v, err := tfbridge.View[float32](b.Tensor("loss"))
		if err != nil {
			t.Fatal(err)
		}
		loss = v[0]
	}
	return loss
}

// Saving does not change existing files, and a model that cannot be built leaves no
// files.
func TestSaveErrors(t *testing.T) {
	top := t.TempDir()
	taken := filepath.Join(top, "taken")
	if err := os.WriteFile(taken, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := layers.Save(taken, sums()); !errors.Is(err, millrace.ErrIO) {
		t.Errorf("got %v", err)
	}
	tests := map[string]func(m *layers.Model){
		"returns no predictions": func(m *layers.Model) {
			m.Function = func(*layers.Net, layers.Tensors, layers.Tensors) *layers.Spec { return nil }
		},
		"no scalar loss": func(m *layers.Model) {
			m.Function = func(n *layers.Net, f, _ layers.Tensors) *layers.Spec {
				return &layers.Spec{Predictions: layers.Tensors{"y": f["bits"]}}
			}
		},
		"a size of the layer's input is not known": func(m *layers.Model) {
			m.Features[0].Shape = tfbridge.MakeShape(-1, -1)
			m.Function = func(n *layers.Net, f, _ layers.Tensors) *layers.Spec {
				layers.Dense(n, graph.Cast(n.Scope, f["bits"], tfbridge.Float), 2, nil)
				return nil
			}
		},
		"needs a function and features": func(m *layers.Model) { m.Features = nil },
		`no mode "predict"`:             func(m *layers.Model) { m.Modes = []layers.Mode{layers.Train, "predict"} },
	}
	for want, edit := range tests {
		m := sums()
		edit(m)
		dir := filepath.Join(top, "model")
		if err := layers.Save(dir, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	left, err := os.ReadDir(top)
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A training resumed from a checkpoint starts with the values of its variables.
func TestTrainGoesOn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	if err := layers.Save(path, sums()); err != nil {
		t.Fatal(err)
	}
	train := func(checkpoints string, steps int64) float64 {
		m, err := estimator.LoadModel(path, &estimator.ModelOptions{Signatures: []string{"train"}})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r, err := estimator.Train(t.Context(), m, bits(60), filepath.Join(dir, checkpoints), &estimator.TrainOptions{Steps: steps})
		if err != nil || r.Step != steps {
			t.Fatal(r, err)
		}
		return r.Loss
	}
	want := train("whole", 60)
	train("parts", 30)
	if got := train("parts", 60); got != want { // each batch is the same one
		t.Errorf("loss %v after two parts, want %v as in one", got, want)
	}
}
