package loaders_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	"millrace/internal/test/modeltest"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
)

// modelDir returns the folder of a model of the repository.
func modelDir(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("../testdata/models", name))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// modelData returns eleven records with a number, a word and three floats, and steps that call two
// models: y = x @ w + b of the floats, and a number for the word.
func modelData(t *testing.T, per string, args fixture.Object, more ...fixture.Object) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "n", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "word", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "x", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"},
	}
	words := []string{"mill", "race", "water", "wheel", "none"}
	var records [][]byte
	for i := range int64(11) {
		v := float32(i)
		records = append(records, example.Marshal([]example.Named{
			{Name: "n", Feature: fixture.Ints(i)}, {Name: "word", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(words[i%5])}}},
			{Name: "x", Feature: fixture.Floats(v, v+1, -v)},
		}))
	}
	f.WriteRecords(t, "a.tfrecords", records[:4]...)
	f.WriteRecords(t, "b.tfrecords", records[4:]...)
	f.Args["primary_features"] = []fixture.Object{{"from_name": "n", "to_name": "n"}, {"from_name": "word", "to_name": "word"}, {"from_name": "x", "to_name": "x"}}
	f.Args["processing_steps"] = append([]fixture.Object{
		{"type": "scale", "tensor": "x", "args": fixture.Object{"factor": 2}},
		modelStep(t, "linear", per, fixture.Object{"x": "x"}, fixture.Object{"y": "y"}),
		modelStep(t, "vocab", per, fixture.Object{"word": "word"}, fixture.Object{"id": "id"}),
		{"type": "drop", "tensor": "x", "args": fixture.Object{}},
		{"type": "scale", "tensor": "y", "to_name": "half", "args": fixture.Object{"factor": 0.5}},
	}, more...)
	f.Args["epochs"], f.Args["seed"], f.Args["target_batch_size"] = 2, 5, 4
	for key, value := range args {
		f.Args[key] = value
	}
	return f
}

func modelStep(t *testing.T, model, per string, inputs, outputs fixture.Object) fixture.Object {
	return fixture.Object{"type": "savedmodel", "args": fixture.Object{"dir": modelDir(t, model), "per": per, "inputs": inputs, "outputs": outputs}}
}

// checkModelBatch compares the tensors of a batch with the models.
func checkModelBatch(t *testing.T, b *loaders.Batch) {
	t.Helper()
	ids := map[string]int64{"mill": 0, "race": 1, "water": 2, "wheel": 3, "none": -1}
	n, y, half, id := column[int64](t, b, "n"), column[float32](t, b, "y"), column[float32](t, b, "half"), column[int64](t, b, "id")
	words, err := b.Tensor("word").Strings()
	if err != nil {
		t.Fatal(err)
	}
	for i, number := range n {
		v := 2 * float32(number)
		// linear.py: w = [[1, -1], [2, 0.5], [0.25, 4]], b = [0.5, -0.5]
		want := []float32{v + 2*(v+2) - 0.25*v + 0.5, -v + 0.5*(v+2) - 4*v - 0.5}
		if got := y[2*i : 2*i+2]; !slices.Equal(got, want) || half[2*i] != want[0]/2 || id[i] != ids[words[i]] {
			t.Fatalf("example %d %s: y %v, half %v, id %d, want y %v", number, words[i], got, half[2*i:2*i+2], id[i], want)
		}
	}
}

// A model in the steps gives what it gives alone, per example and per batch, in each kind of order, with both
// engines.
func TestSavedModelStep(t *testing.T) {
	testruntime.Need(t)
	exact := fixture.Object{"shuffle": true, "shuffle_mode": "exact", "num_parallel_parses": 3}
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 5, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2}
	for name, args := range map[string]fixture.Object{"in order": {}, "exact": exact, "buffers": buffers, "padded": {"padding": true}} {
		for _, per := range []string{"batch", "example"} {
			var texts []string
			for _, engine := range []string{"native", "general"} {
				l := openings[engine](t, modelData(t, per, args))
				rows, text := int64(0), ""
				for b, err := range l.Batches(t.Context()) {
					if err != nil {
						t.Fatalf("%s, per %s, %s: %v", name, per, engine, err)
					}
					if names := strings.Join(b.Names(), " "); names != "n word y id half" {
						t.Fatalf("%s, per %s, %s: tensors %s", name, per, engine, names)
					}
					checkModelBatch(t, b)
					text += b.Tensor("y").String()
					rows += b.Rows()
				}
				if rows != 22 {
					t.Errorf("%s, per %s, %s: %d rows", name, per, engine, rows)
				}
				texts = append(texts, text)
			}
			if texts[0] != texts[1] {
				t.Errorf("%s, per %s: the engines differ", name, per)
			}
		}
	}
}

// A model of batch_steps sees what the step before it made; a run with models continues from every state
// with the same bits, with 1 and 8 threads.
func TestSavedModelOfBatches(t *testing.T) {
	testruntime.Need(t)
	steps := []fixture.Object{
		{"type": "mixup", "tensors": []string{"y", "flat"}, "args": fixture.Object{"alpha": 1}},
		{"type": "savedmodel", "args": fixture.Object{"dir": modelDir(t, "constant"), "inputs": fixture.Object{"x": "flat"}, "outputs": fixture.Object{"y": "flat"}}},
	}
	f := modelData(t, "example", fixture.Object{"batch_steps": steps, "num_parallel_parses": 8},
		fixture.Object{"type": "gather", "tensor": "y", "to_name": "flat", "args": fixture.Object{"indices": []int{0}}},
		fixture.Object{"type": "squeeze", "tensor": "flat", "args": fixture.Object{"axis": 0}})
	l := openSequence(t, f)
	want, states := textsOf(t, l, &loaders.RunOptions{SaveEvery: 1})
	for at := range states[:len(states)-1] {
		if rest, _ := textsOf(t, l, &loaders.RunOptions{State: states[at]}); !cmp.Equal(want[at+1:], rest) {
			t.Fatalf("from batch %d (-whole +rest)\n%s", at, cmp.Diff(want[at+1:], rest))
		}
	}
	f.Args["num_parallel_parses"] = 1
	if one, _ := textsOf(t, openGeneral(t, f), nil); !cmp.Equal(want, one) {
		t.Errorf("with 1 thread (-8 +1)\n%s", cmp.Diff(want, one))
	}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		flat, y := column[float32](t, b, "flat"), column[float32](t, b, "y")
		for i := range flat {
			if want := 2*y[2*i] + 1; flat[i] != want {
				t.Errorf("row %d is %v, want %v", i, flat[i], want)
			}
		}
	}
}

// A model that gives another number of rows than the batch has ends the run with an error that says so.
func TestSavedModelOfOtherRows(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	err := errors.Join(os.CopyFS(dir, os.DirFS(modelDir(t, "constant"))), os.Remove(filepath.Join(dir, "fingerprint.pb")))
	if err != nil {
		t.Fatal(err)
	}
	name, m := filepath.Join(dir, "saved_model.pb"), &tfproto.SavedModel{}
	if err := proto.Unmarshal(modeltest.ReadFile(t, name), m); err != nil {
		t.Fatal(err)
	}
	unique := modeltest.Node("unique", "Unique", m.MetaGraphs[0].SignatureDef["serving_default"].Inputs["x"].GetName())
	modeltest.With(unique, "T", &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_FLOAT}})
	modeltest.With(unique, "out_idx", &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_INT32}})
	m.MetaGraphs[0].GraphDef.Node = append(m.MetaGraphs[0].GraphDef.Node, unique)
	m.MetaGraphs[0].SignatureDef["serving_default"].Outputs["y"].Encoding = &tfproto.TensorInfo_Name{Name: "unique:0"}
	modeltest.WriteFile(t, name, modeltest.Marshal(t, m))

	f := modelData(t, "example", nil,
		fixture.Object{"type": "gather", "tensor": "y", "to_name": "same", "args": fixture.Object{"indices": []int{0}}},
		fixture.Object{"type": "squeeze", "tensor": "same", "args": fixture.Object{"axis": 0}},
		fixture.Object{"type": "clip", "tensor": "same", "args": fixture.Object{"min": 1, "max": 1}},
		fixture.Object{"type": "savedmodel", "args": fixture.Object{"dir": dir, "inputs": fixture.Object{"x": "same"}, "outputs": fixture.Object{"y": "few"}}})
	var last error
	for _, err := range openGeneral(t, f).Batches(t.Context()) {
		last = err
	}
	modeltest.WantError(t, last, millrace.ErrModel, "few", "the model gives 1 rows for a batch of 4")
}

// Steps after a model that is called with batches must work on batches.
func TestStepsAfterModels(t *testing.T) {
	for _, tt := range []struct {
		step fixture.Object
		want string
	}{
		{fixture.Object{"type": "random_noise", "tensor": "y", "args": fixture.Object{"stddev": 1}, "when": "always"}, `random_noise draws for each example, and stands after a "savedmodel"`},
		{fixture.Object{"type": "split", "tensor": "word", "to_name": "words", "args": fixture.Object{}}, "split works on one example at a time"},
		{fixture.Object{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{{"tensor": "id", "op": "ge", "value": 0}}}}, "filter keeps single examples"},
		{modelStep(t, "constant", "example", fixture.Object{"x": "y"}, fixture.Object{"y": "z"}), "savedmodel is called with one example"},
		{fixture.Object{"type": "scale", "tensor": "x", "args": fixture.Object{}}, `no tensor named "x"`},
	} {
		f := modelData(t, "batch", nil, tt.step)
		f.Save(t)
		plan, problems := loaders.Check(f.Config(), nil)
		if plan != nil || len(problems) == 0 || !strings.Contains(problems.Error(), tt.want) {
			t.Errorf("got %v, want %s", problems, tt.want)
		}
	}
}
