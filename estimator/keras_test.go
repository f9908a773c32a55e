package estimator_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/estimator"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// kerasTensor is a tensor in training.json.
type kerasTensor struct {
	Shape     []int64
	Values    []float64
	Trainable bool
}

// kerasTraining is the record of one model by testdata/record_keras.py.
type kerasTraining struct {
	X             kerasTensor // all steps
	Y             []int32
	Losses        []float64
	Before, After map[string]kerasTensor

	dir string // the SavedModel
}

// kerasOptimizers are the optimizers of the recorded models.
var kerasOptimizers = map[string]func() optimizer.Optimizer{
	"cnn": func() optimizer.Optimizer {
		sgd := optimizer.NewSGD()
		sgd.LearningRate, sgd.Momentum = optimizer.Constant(0.1), 0.9
		return sgd
	},
	"shared": func() optimizer.Optimizer {
		adam := optimizer.NewAdam()
		adam.LearningRate = optimizer.Constant(0.01)
		return adam
	},
	"regularized": func() optimizer.Optimizer {
		sgd := optimizer.NewSGD()
		sgd.LearningRate = optimizer.Constant(0.1)
		return sgd
	},
	"spectral": func() optimizer.Optimizer {
		sgd := optimizer.NewSGD()
		sgd.LearningRate, sgd.Momentum = optimizer.Constant(0.1), 0.9
		return sgd
	},
	"noisy": func() optimizer.Optimizer {
		sgd := optimizer.NewSGD()
		sgd.LearningRate = optimizer.Constant(0.05)
		return sgd
	},
}

// readKeras unpacks one recorded model.
func readKeras(t *testing.T, name string) *kerasTraining {
	t.Helper()
	f, err := os.Open("testdata/keras.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for tr := tar.NewReader(zip); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path, ok := strings.CutPrefix(h.Name, name+"/")
		if !ok {
			continue
		}
		path = filepath.Join(dir, filepath.FromSlash(path))
		data, err := io.ReadAll(tr)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "training.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &kerasTraining{dir: filepath.Join(dir, "model")}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// source gives the recorded batches from a step on. The position in a dataset is not
// saved.
func (r *kerasTraining) source(after int64) estimator.Source {
	return estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		x := make([]float32, len(r.X.Values))
		for i, v := range r.X.Values {
			x[i] = float32(v)
		}
		return dataset.Range(s, after, r.X.Shape[0], 1).Map("batch", func(s *graph.Scope, n []tfbridge.Output) []tfbridge.Output {
			all := graph.Reshape(s, s.Const(x), s.Const(r.X.Shape))
			labels := graph.Reshape(s, s.Const(r.Y), s.Const(r.X.Shape[:2]))
			return []tfbridge.Output{graph.GatherV2(s, all, n[0], 0), graph.GatherV2(s, labels, n[0], 0)}
		}, nil)
	}, "x", "y")
}

// objective is the step that Keras made.
func (r *kerasTraining) objective(name string) *estimator.Objective {
	o := &estimator.Objective{
		Loss: losses.Loss{Type: losses.SparseSoftmaxCrossEntropy}, Labels: "y", Optimizer: kerasOptimizers[name](),
	}
	if name == "regularized" {
		o.Predictions, o.More = "output_0", []estimator.Term{{Loss: losses.Loss{Type: losses.ModelOutput}, Predictions: "penalty"}}
	}
	return o
}

// train trains in dir until a step, and returns the losses and the variables after it.
func (r *kerasTraining) train(t *testing.T, name, dir string, after, steps int64) (found []float64, variables map[string][]float32) {
	t.Helper()
	m, err := estimator.LoadModel(r.dir, &estimator.ModelOptions{Signatures: []string{"train", "serve"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o := &estimator.TrainOptions{Objective: r.objective(name), Steps: steps, Signature: "train"}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		found = append(found, s.Loss)
		values, err := s.Variables()
		variables = map[string][]float32{}
		for _, v := range values {
			if v.DataType() == tfbridge.Float {
				variables[v.Name], _ = tfbridge.View[float32](v.Tensor)
				variables[v.Name] = slices.Clone(variables[v.Name])
			}
			v.Close()
		}
		return err
	}
	if _, err := estimator.Train(t.Context(), m, r.source(after), dir, o); err != nil {
		t.Fatal(err)
	}
	return found, variables
}

// A model of Keras in training mode trains as in Keras: losses, moving statistics,
// dropout, frozen layers, and random operations whose state no variable has.
func TestKerasTraining(t *testing.T) {
	for name := range kerasOptimizers {
		t.Run(name, func(t *testing.T) {
			r := readKeras(t, name)
			got, after := r.train(t, name, t.TempDir(), 0, 0)
			for i, want := range r.Losses {
				if i >= len(got) || math.Abs(got[i]-want) > 1e-5 {
					t.Fatalf("losses %v, want %v", got, r.Losses)
				}
			}
			r.compare(t, after)
		})
	}
}

// compare compares the variables after the training.
func (r *kerasTraining) compare(t *testing.T, after map[string][]float32) {
	t.Helper()
	names := kerasNames(t, r.dir)
	for path, want := range r.After {
		got, ok := after[names[path]]
		if !ok {
			t.Errorf("no variable %s, the checkpoint has %v", path, slices.Sorted(maps.Keys(after)))
			continue
		}
		moved := false
		for i, v := range want.Values {
			moved = moved || v != r.Before[path].Values[i]
			if !want.Trainable && strings.Contains(path, "frozen") || strings.HasPrefix(path, "stem") {
				if got[i] != float32(r.Before[path].Values[i]) {
					t.Errorf("%s is frozen, and element %d changed from %v to %v", path, i, r.Before[path].Values[i], got[i])
				}
			}
			if math.Abs(float64(got[i])-v) > 2e-6 {
				t.Errorf("%s: element %d is %v, want %v", path, i, got[i], v)
			}
		}
		if want.Trainable && !moved {
			t.Errorf("%s did not move in Keras", path)
		}
	}
}

// kerasNames returns the names in checkpoints of the variables by the paths that Keras
// gives them.
func kerasNames(t *testing.T, dir string) map[string]string {
	t.Helper()
	m, err := estimator.ReadModel(dir, &estimator.ModelOptions{Signatures: []string{"train"}})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for name, v := range m.Saved().VariableObjects() {
		names[v.Name] = strings.TrimSuffix(name, "/.ATTRIBUTES/VARIABLE_VALUE")
	}
	return names
}

// A training that is stopped and resumed has the same bits as an uninterrupted one,
// with both kinds of dropout.
func TestKerasResumed(t *testing.T) {
	for name := range kerasOptimizers {
		t.Run(name, func(t *testing.T) {
			r := readKeras(t, name)
			want, wantAfter := r.train(t, name, t.TempDir(), 0, 9)
			dir := t.TempDir()
			got, _ := r.train(t, name, dir, 0, 4)
			more, after := r.train(t, name, dir, 4, 9)
			if got = append(got, more...); !slices.Equal(got, want) {
				t.Errorf("losses\n%v, want\n%v", got, want)
			}
			for path, v := range wantAfter {
				if !slices.Equal(after[path], v) {
					t.Errorf("%s: %v, want %v", path, after[path], v)
				}
			}
		})
	}
}

// announced returns what a training of a recorded model reports before its first step.
func (r *kerasTraining) announced(t *testing.T, name, signature string, patterns ...string) (trained *estimator.Trained, notes []string) {
	t.Helper()
	m, err := estimator.LoadModel(r.dir, &estimator.ModelOptions{Signatures: []string{signature}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o := &estimator.TrainOptions{Objective: r.objective(name), Steps: 1, Signature: signature}
	o.Objective.Variables = patterns
	o.Hooks.Note = func(text string) { notes = append(notes, text) }
	o.Hooks.Trains = func(t *estimator.Trained) error {
		trained = t
		return nil
	}
	if _, err := estimator.Train(t.Context(), m, r.source(0), t.TempDir(), o); err != nil {
		t.Fatal(err)
	}
	return trained, notes
}

// The start of a training says which variables it trains, and why not the others.
func TestTrained(t *testing.T) {
	r := readKeras(t, "cnn")
	trained, _ := r.announced(t, "cnn", "train")
	want := []string{
		"trains 5 variables with 203 weights: conv/kernel, norm/gamma, norm/beta, head/kernel, head/bias",
		"not trainable in the model", "the signature itself changes it",
	}
	text := strings.Join(trained.Text(), "\n")
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("got\n%s\nwithout %q", text, part)
		}
	}
	if trained, _ = r.announced(t, "cnn", "train", "stem/*"); len(trained.Variables) != 2 || !strings.Contains(strings.Join(trained.Text(), "\n"), "no pattern of variables matches") {
		t.Errorf("with a pattern: %q", trained.Text())
	}
}

// A signature for predictions trains with a warning that names the layers; one in
// training mode has none.
func TestInferenceNoted(t *testing.T) {
	r := readKeras(t, "cnn")
	_, notes := r.announced(t, "cnn", "serve")
	text := strings.Join(notes, "\n")
	for _, part := range []string{`signature "serve" runs the model as for predictions`, "1 batch normalization stay as they are (norm)", "1 random layer, such as dropout", "training=True"} {
		if !strings.Contains(text, part) {
			t.Errorf("notes %q do not have %q", text, part)
		}
	}
	for name := range kerasOptimizers {
		if _, notes := readKeras(t, name).announced(t, name, "train"); strings.Contains(strings.Join(notes, "\n"), "as for predictions") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}
