package weights_test

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/dtype"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/layers"
	"millrace/estimator/weights"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// save saves the model of testdata/record.py, with layers of a prefix and a head of a
// number of units.
func save(t *testing.T, prefix string, units int64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	err := layers.Save(dir, &layers.Model{
		Features: []layers.TensorSpec{{Name: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 6, 5, 3)}},
		Modes:    []layers.Mode{layers.Predict},
		Function: func(n *layers.Net, features, _ layers.Tensors) *layers.Spec {
			y := layers.Conv2D(n, features["x"], 2, []int64{2, 2}, &layers.ConvOptions{Name: prefix + "conv"})
			y = layers.BatchNormalization(n, y, &layers.NormalizationOptions{Name: prefix + "norm"})
			y = layers.Dense(n, layers.Flatten(n, y), 4, &layers.DenseOptions{Name: prefix + "hidden", Activation: layers.Relu})
			return &layers.Spec{Predictions: layers.Tensors{"y": layers.Dense(n, y, units, &layers.DenseOptions{Name: "head"})}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// initialize loads a saved model, initializes it and returns its variables and the report.
func initialize(t *testing.T, dir, from string, o *weights.Options) (map[string][]float32, string, error) {
	t.Helper()
	m, err := estimator.LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	report, err := m.Initialize(from, o)
	if err != nil {
		return nil, "", err
	}
	read, err := m.Variables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]float32{}
	for name, v := range read {
		x, err := tfbridge.View[float32](v)
		if err != nil {
			t.Fatal(err)
		}
		values[name] = slices.Clone(x)
		v.Close()
	}
	return values, strings.Join(report, "\n"), nil
}

// recorded returns Keras's values.
func recorded(t *testing.T) map[string][]float32 {
	t.Helper()
	text, err := os.ReadFile("testdata/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string][]float32
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// compare compares variables with Keras's values.
func compare(t *testing.T, got map[string][]float32, prefix string, without ...string) {
	t.Helper()
	for name, want := range recorded(t) {
		if slices.Contains(without, name) {
			continue
		}
		have, ok := got[prefix+name]
		if !ok {
			have = got[name]
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s is %v, want %v", name, have, want)
		}
	}
}

// Each form of file gives a model Keras's values, and so do a SavedModel and a checkpoint
// that hold them. In a checkpoint of Keras's model the paths of objects say nothing, and the
// graph of objects has the names.
func TestForms(t *testing.T) {
	dir := save(t, "", 3)
	for _, name := range []string{"small.weights.h5", "small.keras", "small.safetensors", "objects"} {
		values, report, err := initialize(t, dir, "testdata/"+name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		compare(t, values, "")
		if !strings.HasPrefix(report, "10 of 10 variables begin with values of testdata/"+name) {
			t.Errorf("%s: %s", name, report)
		}
	}
	other := save(t, "", 3)
	values, _, err := initialize(t, dir, other, nil)
	if err != nil || values["conv/kernel"] == nil {
		t.Fatal(err)
	}
	again, _, err := initialize(t, dir, filepath.Join(other, "variables", "variables"), nil)
	if err != nil || !slices.Equal(again["conv/kernel"], values["conv/kernel"]) {
		t.Errorf("a checkpoint gives %v, the SavedModel of it %v: %v", again["conv/kernel"], values["conv/kernel"], err)
	}
}

// Layers of other names get values by a map; a head of another size keeps its own, if that
// is allowed.
func TestTransfer(t *testing.T) {
	dir := save(t, "encoder/", 5)
	for _, name := range []string{"small.weights.h5", "small.safetensors"} {
		_, _, err := initialize(t, dir, "testdata/"+name, nil)
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || !strings.Contains(e.Msg, "head/kernel is float32[4, 5] in the model") {
			t.Errorf("%s: got %v", name, err)
		}
		values, report, err := initialize(t, dir, "testdata/"+name, &weights.Options{SkipMismatch: true})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, values, "encoder/", "head/kernel", "head/bias")
		if len(values["head/bias"]) != 5 || !strings.Contains(report, "8 of 10") || !strings.Contains(report, "in another form") {
			t.Errorf("%s: %s", name, report)
		}
		values, report, err = initialize(t, dir, "testdata/"+name, &weights.Options{Variables: []string{"encoder/norm/*"}})
		if err != nil || !strings.HasPrefix(report, "4 of 10") || values["encoder/norm/gamma"][0] != recorded(t)["norm/gamma"][0] {
			t.Errorf("%s: %s, %v", name, report, err)
		}
	}
	strange := save(t, "x", 3) // xconv, xnorm, xhidden
	o := &weights.Options{Map: []weights.Rename{{From: "conv/*", To: "xconv/*"}, {From: "norm/*", To: "xnorm/*"}, {From: "hidden/*", To: "xhidden/*"}}}
	values, _, err := initialize(t, strange, "testdata/small.safetensors", o)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, values, "x")
	if _, _, err := initialize(t, strange, "testdata/small.safetensors", &weights.Options{Variables: []string{"ynorm/*"}}); err == nil || !strings.Contains(err.Error(), "no variable of the model has a name that") {
		t.Errorf("got %v", err)
	}
}

// A name that two tensors have is not used.
func TestAmbiguous(t *testing.T) {
	s := &weights.Source{Path: "x", Tensors: []weights.Tensor{
		{Names: []string{"a/kernel", "kernel"}, DType: dtype.Float, Shape: dtype.MakeShape(2)},
		{Names: []string{"b/kernel", "kernel"}, DType: dtype.Half, Shape: dtype.MakeShape(2)},
	}}
	variables := []weights.Variable{
		{Names: []string{"model/b/kernel", "kernel"}, DType: dtype.Float, Shape: dtype.MakeShape(2)},
		{Names: []string{"c/kernel", "kernel"}, DType: dtype.Float, Shape: dtype.MakeShape(2)},
	}
	m, err := weights.NewMatch(variables, s, &weights.Options{SkipMismatch: true})
	if err != nil || len(m.Taken) != 1 || m.Taken[0] != (weights.Pair{Variable: 0, Tensor: 1}) || len(m.Missing) != 1 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Files of Keras have no seeds of random layers: a model with dropout gets its weights and keeps
// its seed.
func TestSeedsMayBeMissing(t *testing.T) {
	s := &weights.Source{Path: "x", Tensors: []weights.Tensor{{Names: []string{"a/kernel"}, DType: dtype.Float, Shape: dtype.MakeShape(2)}}}
	variables := []weights.Variable{
		{Names: []string{"variables/0", "a/kernel"}, DType: dtype.Float, Shape: dtype.MakeShape(2)},
		{Names: []string{"variables/1", "seed_generator/seed_generator_state"}, DType: dtype.Uint32, Shape: dtype.MakeShape(2)},
	}
	m, err := weights.NewMatch(variables, s, nil)
	if err != nil || len(m.Taken) != 1 || len(m.Missing) != 1 || m.Missing[0] != 1 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// From a checkpoint of an optimizer with averages the averages are read.
func TestAverages(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "ckpt-1")
	specs := []dtype.TensorSpec{{Name: "w", DType: dtype.Float, Shape: dtype.ScalarShape()}, {Name: "sgd/w_average", DType: dtype.Float, Shape: dtype.ScalarShape()}}
	var values []*tfbridge.Tensor
	for _, x := range []float32{1, 2} {
		v, err := tfbridge.NewTensor(x)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		values = append(values, v)
	}
	if err := checkpoint.WriteTensors(prefix, specs, values); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prefix+".json", []byte(`{"averages": {"w": "sgd/w_average"}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := weights.Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	i := slices.IndexFunc(s.Tensors, func(t weights.Tensor) bool { return t.Names[0] == "w" })
	v, err := s.Read(i, dtype.Float)
	if err != nil || v.Value() != float32(2) {
		t.Errorf("got %v, %v", v, err)
	}
	v.Close()
}

// A path that has no weights is an error that names it, and the forms that there are.
func TestNoWeights(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("words"), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"): "there is no such file; weights are the folder of a SavedModel", text: "the file is of no known form; weights are",
		dir: "the folder has no file", filepath.Join(dir, "missing.keras"): "no such file",
	} {
		_, err := weights.Open(path)
		if !errors.Is(err, millrace.ErrCheckpoint) && !errors.Is(err, millrace.ErrIO) || !strings.Contains(fmt.Sprint(err), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// FuzzOpen changes files of every form: reading ends with tensors or an error.
func FuzzOpen(f *testing.F) {
	names := []string{"small.weights.h5", "small.keras", "small.safetensors"}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		files[name] = data
	}
	for i := range names {
		f.Add(i, uint32(0), []byte{})
		f.Add(i, uint32(8), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
		f.Add(i, uint32(30), []byte(`"shape":[9999999999,9999999999]`))
	}
	f.Fuzz(func(t *testing.T, i int, at uint32, change []byte) {
		name := names[uint(i)%uint(len(names))]
		data := slices.Clone(files[name])
		copy(data[int(at)%len(data):], change)
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := weights.Open(path)
		if err != nil {
			return
		}
		defer s.Close()
		for i, tensor := range s.Tensors {
			if v, err := s.Read(i, tensor.DType); err == nil {
				v.Close()
			}
		}
	})
}

// Some tools compress the members of a .keras file, which Keras does not. The weights are the same.
func TestCompressedKeras(t *testing.T) {
	from, err := zip.OpenReader("testdata/small.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(t.TempDir(), "small.keras")
	to, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(to)
	for _, m := range from.File {
		in, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		out, err := z.Create(m.Name) // deflated
		if err == nil {
			_, err = io.Copy(out, in)
		}
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
	}
	if err := errors.Join(z.Close(), to.Close()); err != nil {
		t.Fatal(err)
	}
	values, _, err := initialize(t, save(t, "", 3), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, values, "")
}

// A variable without a tensor is named, unless the options allow it.
func TestMissing(t *testing.T) {
	s := &weights.Source{Path: "x", Tensors: []weights.Tensor{{Names: []string{"a/kernel"}, DType: dtype.Float, Shape: dtype.MakeShape(2)}}}
	variables := []weights.Variable{
		{Names: []string{"a/kernel"}, DType: dtype.Float, Shape: dtype.MakeShape(2)},
		{Names: []string{"a/bias"}, DType: dtype.Float, Shape: dtype.MakeShape(2)},
	}
	if _, err := weights.NewMatch(variables, s, nil); !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(err.Error(), "a/bias is missing") {
		t.Errorf("got %v", err)
	}
	if m, err := weights.NewMatch(variables, s, &weights.Options{SkipMismatch: true}); err != nil || !slices.Equal(m.Missing, []int{1}) {
		t.Errorf("got %+v, %v", m, err)
	}
}
