package portable_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/portable"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// picture returns a small PNG.
func picture(t *testing.T, seed uint8) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 7, 5+int(seed)%3))
	for i := range m.Pix {
		m.Pix[i] = uint8(i*31) ^ seed*57
	}
	m.Set(0, 0, color.RGBA{seed, 2, 3, 255})
	var text bytes.Buffer
	if err := png.Encode(&text, m); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// mixedData returns a dataset of pictures, texts and prices, with steps for each, and its records.
func mixedData(t *testing.T) (*fixture.Dataset, [][]byte) {
	t.Helper()
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "photo", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "price", "dtype": "float32", "shape": []int{2}, "deserialize_type": "float"},
		{"name": "label", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	}
	var records [][]byte
	text := func(s []byte) example.Feature { return example.Feature{Kind: example.Bytes, Bytes: [][]byte{s}} }
	for i := range 5 {
		records = append(records, example.Marshal([]example.Named{
			{Name: "photo", Feature: text(picture(t, uint8(i)))}, {Name: "text", Feature: text([]byte(strings.Repeat("The cat ", i+1)))},
			{Name: "price", Feature: fixture.Floats(float32(i), 4)}, {Name: "label", Feature: fixture.Ints(int64(i % 2))},
		}))
	}
	f.WriteRecords(t, "a.tfrecords", records...)
	f.Args["primary_features"] = []fixture.Object{
		{"from_name": "photo", "to_name": "image"}, {"from_name": "text", "to_name": "words"}, {"from_name": "price", "to_name": "price"}, {"from_name": "label", "to_name": "label"},
	}
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "decode_image", "tensor": "image"},
		{"type": "resize", "tensor": "image", "args": fixture.Object{"size": []int{4, 4}}},
		{"type": "random_flip_left_right", "tensor": "image"},
		{"type": "per_image_standardization", "tensor": "image"},
		{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{{"tensor": "label", "op": "ge", "value": 0}}}},
		{"type": "lower", "tensor": "words"}, {"type": "split", "tensor": "words"},
		{"type": "lookup", "tensor": "words", "args": fixture.Object{"vocabulary": []string{"cat", "dog"}, "start": 1}},
		{"type": "normalize", "tensor": "price", "args": fixture.Object{"mean": []int{1, 2}, "std": []int{3, 4}}},
	}
	f.Args["padding"], f.Args["target_batch_size"] = true, 5
	return f, records
}

// evalPlan checks a config in mode eval.
func evalPlan(t *testing.T, path string) *loaders.Plan {
	t.Helper()
	plan, problems := loaders.Check(path, &loaders.CheckOptions{Mode: spec.ModeEval})
	if plan == nil {
		t.Fatal(problems)
	}
	return plan
}

// firstBatch returns the bytes of the tensors of the first batch of a plan.
func firstBatch(t *testing.T, plan *loaders.Plan) map[string]string {
	t.Helper()
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := map[string]string{}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range b.Names() {
			got[name] = bytesOf(t, b.Tensor(name))
		}
		return got
	}
	t.Fatal("no batch")
	return nil
}

func bytesOf(t *testing.T, x *tfbridge.Tensor) string {
	t.Helper()
	data, err := x.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x.DataType(), x.Shape(), base64.StdEncoding.EncodeToString(data))
}

// The exported steps give the bits of the loader in mode eval, of records and of values, whoever
// loads the model. They ask only for what the tensors need.
func TestProcessingAsModel(t *testing.T) {
	testruntime.Need(t)
	f, records := mixedData(t)
	f.Save(t)
	plan := evalPlan(t, f.Config())
	want := firstBatch(t, plan)
	dir := filepath.Join(t.TempDir(), "steps")
	if err := portable.WriteProcessing(plan, dir, &portable.ProcessingOptions{Tensors: []string{"image", "words", "price"}}); err != nil {
		t.Fatal(err)
	}
	m, err := graph.LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var photos, texts [][]byte
	var prices [][2]float32
	for i := range records {
		photos, texts, prices = append(photos, picture(t, uint8(i))), append(texts, []byte(strings.Repeat("The cat ", i+1))), append(prices, [2]float32{float32(i), 4})
	}
	for key, inputs := range map[string]map[string]any{
		portable.RecordsSignature: {portable.RecordsInput: records},
		portable.ValuesSignature:  {"image": photos, "words": texts, "price": prices},
	} {
		if n := len(m.Signatures()[key].Inputs); n != len(inputs) {
			t.Errorf("%s takes %d inputs, want %d", key, n, len(inputs))
		}
		for range 2 { // the vocabulary is filled once more
			got, err := m.Call(t.Context(), key, inputs)
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			for name, x := range got {
				if text := bytesOf(t, x); text != want[name] {
					t.Errorf("%s: %s differs:\n%.200s\n%.200s", key, name, text, want[name])
				}
				x.Close()
			}
			if len(got) != 3 {
				t.Errorf("%s gives %d tensors, want 3", key, len(got))
			}
		}
	}
	if err := portable.WriteProcessing(plan, dir, nil); err == nil {
		t.Error("a folder that exists is replaced")
	}
	train, _ := loaders.Check(f.Config(), &loaders.CheckOptions{Mode: spec.ModeTrain})
	var refused *millrace.Error
	if err := portable.WriteProcessing(train, dir+"2", nil); !errors.As(err, &refused) || !strings.Contains(refused.Msg, "random_flip_left_right draws") {
		t.Errorf("random steps: got %v", err)
	}
}

// Steps joined with a model give the outputs of the model over the loader's batches.
func TestProcessingJoined(t *testing.T) {
	testruntime.Need(t)
	digits := filepath.Join("..", "..", "examples", "digits")
	plan := evalPlan(t, filepath.Join(digits, "predict.json"))
	own := filepath.Join(digits, "model")
	dir := filepath.Join(t.TempDir(), "served")
	if err := portable.WriteProcessing(plan, dir, &portable.ProcessingOptions{Model: own}); err != nil {
		t.Fatal(err)
	}
	joined, err := graph.LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	alone, err := graph.LoadModel(own, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var records [][]byte
	data := readRecords(t, plan.Files[0].Path, int(plan.BatchSize))
	records = append(records, data...)
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		results := map[string]string{}
		for key, inputs := range map[string]map[string]any{
			portable.RecordsSignature: {portable.RecordsInput: records},
			portable.ValuesSignature:  {"image": b.Tensor("image")},
			"alone":                   {"image": b.Tensor("image")},
		} {
			m, signature := joined, key
			if key == "alone" {
				m, signature = alone, ""
			}
			got, err := m.Call(t.Context(), signature, inputs)
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			var texts []string
			for name, x := range got {
				texts = append(texts, name+bytesOf(t, x))
				x.Close()
			}
			slices.Sort(texts)
			results[key] = strings.Join(texts, "\n")
		}
		if results[portable.RecordsSignature] != results["alone"] || results[portable.ValuesSignature] != results["alone"] {
			t.Error("the signatures give different outputs")
		}
		break
	}
	if err := portable.WriteProcessing(plan, dir+"2", &portable.ProcessingOptions{Model: dir}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("joined twice: got %v", err)
	}
}

// readRecords reads the first records of a file.
func readRecords(t *testing.T, path string, n int) (records [][]byte) {
	t.Helper()
	err := tfrecord.Find(path, nil, func(r tfrecord.Record) error {
		if records = append(records, slices.Clone(r.Data)); len(records) == n {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return records
}

var errEnough = errors.New("enough")

// Models in the steps are a part of the exported steps: with their variables and tables, per batch and per
// example.
func TestModelsInProcessing(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "word", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "x", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"},
	}
	words := []string{"wheel", "none", "mill"}
	values, texts, records := [][]float32{}, [][]byte{}, [][]byte{}
	for i, word := range words {
		v := float32(i)
		values, texts = append(values, []float32{v, v + 1, -v}), append(texts, []byte(word))
		records = append(records, example.Marshal([]example.Named{
			{Name: "word", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(word)}}}, {Name: "x", Feature: fixture.Floats(v, v+1, -v)},
		}))
	}
	f.WriteRecords(t, "a.tfrecords", records...)
	f.Args["primary_features"] = []fixture.Object{{"from_name": "word", "to_name": "word"}, {"from_name": "x", "to_name": "x"}}
	models, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "savedmodel", "args": fixture.Object{"dir": filepath.Join(models, "vocab"), "per": "example", "inputs": fixture.Object{"word": "word"}, "outputs": fixture.Object{"id": "id"}}},
		{"type": "savedmodel", "args": fixture.Object{"dir": filepath.Join(models, "linear"), "inputs": fixture.Object{"x": "x"}, "outputs": fixture.Object{"y": "y"}}},
		{"type": "drop", "tensors": []string{"word", "x"}, "args": fixture.Object{}},
	}
	f.Args["target_batch_size"] = 3
	f.Save(t)
	plan := evalPlan(t, f.Config())
	want := firstBatch(t, plan)
	dir := filepath.Join(t.TempDir(), "steps")
	if err := portable.WriteProcessing(plan, dir, &portable.ProcessingOptions{Tensors: []string{"y", "id"}}); err != nil {
		t.Fatal(err)
	}
	m, err := graph.LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for key, inputs := range map[string]map[string]any{
		portable.RecordsSignature: {portable.RecordsInput: records}, portable.ValuesSignature: {"word": texts, "x": values},
	} {
		got, err := m.Call(t.Context(), key, inputs)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if len(got) != 2 {
			t.Errorf("%s gives %d tensors", key, len(got))
		}
		for name, x := range got {
			if text := bytesOf(t, x); text != want[name] {
				t.Errorf("%s: %s is %s, want %s", key, name, text, want[name])
			}
			x.Close()
		}
	}
}
