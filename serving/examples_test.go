package serving

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/estimator"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	"millrace/loaders"
	"millrace/serving/batching"
	"millrace/serving/internal/inference"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// points are records whose processing casts, slices and adds a constant for the
// model "classifier".
func points(t *testing.T, n int) (*fixture.Dataset, [][]byte) {
	t.Helper()
	d := fixture.New(t)
	d.Manifest["features"] = []fixture.Object{{"name": "point", "dtype": "float32", "shape": []int{3}, "deserialize_type": "int", "checked_cast": true}}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "point", "to_name": "xs"}}
	d.Args["processing_steps"] = []fixture.Object{{"type": "slice", "tensor": "xs", "args": fixture.Object{"slice": "[:2]"}}}
	d.Args["secondary_features"] = []fixture.Object{{"to_name": "id", "type": "const", "args": fixture.Object{"shape": []int{}, "dtype": "int64", "value": 1}}}
	var records [][]byte
	for i := range int64(n) {
		records = append(records, example.Marshal([]example.Named{{Name: "point", Feature: fixture.Ints(i, 7-i, 3)}}))
	}
	d.WriteRecords(t, "a.tfrecords", records...)
	d.Save(t)
	return d, records
}

// waves are records of different lengths, padded for the model "windows".
func waves(t *testing.T, n int) (*fixture.Dataset, [][]byte) {
	t.Helper()
	d := fixture.New(t)
	d.Manifest["features"] = []fixture.Object{{"name": "wave", "dtype": "float32", "shape": []int{-1}, "deserialize_type": "float"}}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "wave", "to_name": "x"}}
	d.Args["padding"] = true
	var records [][]byte
	for i := range n {
		records = append(records, example.Marshal([]example.Named{{Name: "wave", Feature: fixture.Floats(make([]float32, 1+i%3)...)}}))
	}
	d.WriteRecords(t, "a.tfrecords", records...)
	d.Save(t)
	return d, records
}

// planOf checks a config without its data files.
func planOf(t *testing.T, d *fixture.Dataset) *loaders.Plan {
	t.Helper()
	p, problems := loaders.Check(d.Config(), &loaders.CheckOptions{ManifestOnly: true})
	if p == nil {
		t.Fatal(problems)
	}
	if len(p.Files) != 0 {
		t.Errorf("a plan without data files has %d", len(p.Files))
	}
	return p
}

// predicted returns an output of a signature over a dataset, as `millrace predict`
// computes it.
func predicted(t *testing.T, model, output string, d *fixture.Dataset) []float32 {
	t.Helper()
	p, problems := loaders.Check(d.Config(), nil)
	if p == nil {
		t.Fatal(problems)
	}
	m, err := estimator.LoadModel(testdata+model, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var all []float32
	for b, err := range m.Predict(t.Context(), &loaders.Source{Plan: p}, &estimator.PredictOptions{Outputs: []string{output}}) {
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tfbridge.View[float32](b.Tensor(output))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// startLoader serves a model of testdata as m, with a loader, in batches.
func startLoader(t *testing.T, model string, p *loaders.Plan) *Version {
	t.Helper()
	base := t.TempDir()
	put(t, base, model, 1)
	s := start(t, ModelConfig{BasePath: base}, Options{Loaders: map[string]*loaders.Plan{"m": p}, Batching: &batching.Options{}})
	v, err := s.Acquire(ModelSpec{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Release)
	return v
}

// ask returns an output of the signature "examples".
func (v *Version) ask(t *testing.T, output string, records ...[]byte) ([]float32, error) {
	results, err := v.Predict(t.Context(), "examples", map[string]any{"inputs": records}, output)
	if err != nil {
		return nil, err
	}
	defer results[output].Close()
	rows, err := tfbridge.View[float32](results[output])
	return slices.Clone(rows), err
}

// withoutLibrary returns the plan of a process without the library of Millrace's
// operations: Go checks the records, and TensorFlow parses them.
func withoutLibrary(p *loaders.Plan) *loaders.Plan {
	q := *p
	q.NativeLibrary = ""
	return &q
}

func TestLoader(t *testing.T) {
	const n = 24
	d, records := points(t, n)
	want := predicted(t, "classifier", "scores", d)
	native := planOf(t, d)
	for name, p := range map[string]*loaders.Plan{"native": native, "TensorFlow's parser": withoutLibrary(native)} {
		v := startLoader(t, "classifier", p)
		got := make([]float32, 3*n)
		var all sync.WaitGroup
		for i := 0; i < n; i += 2 {
			all.Go(func() {
				rows, err := v.ask(t, "scores", records[i:i+2]...)
				if err != nil {
					t.Errorf("%s, records %d and %d: %v", name, i, i+1, err)
				}
				copy(got[3*i:], rows)
			})
		}
		all.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %v\nwant %v", name, got, want)
		}
	}
}

// Records of variable length are batched only with those of their own request: their
// padding must not depend on other requests.
func TestLoaderOfVariableLength(t *testing.T) {
	d, records := waves(t, 6)
	want := predicted(t, "windows", "y", d)
	p := planOf(t, d)
	for name, p := range map[string]*loaders.Plan{"native": p, "TensorFlow's parser": withoutLibrary(p)} {
		v := startLoader(t, "windows", p)
		if v.batchers["examples"] != nil || v.batchers["serving_default"] == nil {
			t.Errorf("%s: the batchers are %v", name, v.batchers)
		}
		got, err := v.ask(t, "y", records...)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v\nwant %v", name, got, err, want)
		}
	}
}

func TestLoaderRefusesRecords(t *testing.T) {
	d, records := points(t, 2)
	short := example.Marshal([]example.Named{{Name: "point", Feature: fixture.Ints(1)}})
	large := example.Marshal([]example.Named{{Name: "point", Feature: fixture.Ints(1<<24+1, 0, 0)}})
	other := example.Marshal([]example.Named{{Name: "pint", Feature: fixture.Ints(1, 2, 3)}})
	p := planOf(t, d)
	for name, p := range map[string]*loaders.Plan{"native": p, "TensorFlow's parser": withoutLibrary(p)} {
		v := startLoader(t, "classifier", p)
		for _, tt := range []struct {
			record []byte
			want   string
		}{
			{short, `example 1: feature "point": 1 value is stored, want 3 for shape [3]`},
			{large, `example 1: feature "point": `},
			{other, `example 1: feature "point": the record has no such feature`},
			{records[1][:9], `example 1: `},
			{nil, `example 1: an empty record (0 bytes)`},
		} {
			_, err := v.ask(t, "scores", records[0], tt.record)
			if err == nil || !strings.Contains(err.Error(), tt.want) || CodeOf(err) != tfbridge.InvalidArgument {
				t.Errorf("%s: got %v (%v)\nwant %s", name, err, CodeOf(err), tt.want)
			}
		}
		if _, err := v.Predict(t.Context(), "examples", map[string]any{"records": "x"}); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("another input: %v", err)
		}
	}
}

// A loader works through every method that takes Examples, and metadata lists its
// signatures.
func TestLoaderSignatures(t *testing.T) {
	d, records := points(t, 2)
	v := startLoader(t, "classifier", planOf(t, d))
	var keys []string
	for key := range v.Signatures() {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	want := []string{"evaluate", "evaluate_examples", "examples", "serving_default", "train", "train_examples"}
	if !slices.Equal(keys, want) {
		t.Errorf("signatures %q, want %q", keys, want)
	}
	meta := &tfproto.MetaGraphDef{}
	if err := proto.Unmarshal(v.MetaGraph(), meta); err != nil {
		t.Fatal(err)
	}
	def := meta.SignatureDef["examples"]
	if in := def.GetInputs()["inputs"]; in.GetDtype() != tfproto.DataType_DT_STRING || len(in.GetTensorShape().GetDim()) != 1 || len(def.GetOutputs()) != 2 || len(meta.SignatureDef) < len(want) {
		t.Errorf("metadata: %v", def)
	}
	list := &servingproto.ExampleList{}
	for _, r := range records {
		e := &tfproto.Example{}
		if err := proto.Unmarshal(r, e); err != nil {
			t.Fatal(err)
		}
		list.Examples = append(list.Examples, e)
	}
	a, err := inference.Classify(t.Context(), v, &servingproto.ClassificationRequest{
		ModelSpec: &servingproto.ModelSpec{SignatureName: "examples"}, Input: &servingproto.Input{Kind: &servingproto.Input_ExampleList{ExampleList: list}},
	})
	if err != nil {
		t.Fatal(err)
	}
	scores := predicted(t, "classifier", "scores", d)
	for i, c := range a.GetResult().GetClassifications() {
		for j, class := range c.Classes {
			if class.Score != scores[3*i+j] {
				t.Errorf("score %d of example %d: %v, want %v", j, i, class.Score, scores[3*i+j])
			}
		}
	}
}

// Regress and MultiInference take tf.Examples through a loader, and answer with the
// same values that `millrace predict` computes from the same records.
func TestLoaderRegression(t *testing.T) {
	d, records := points(t, 3)
	v := startLoader(t, "regressor", planOf(t, d))
	list := &servingproto.ExampleList{}
	for _, r := range records {
		e := &tfproto.Example{}
		if err := proto.Unmarshal(r, e); err != nil {
			t.Fatal(err)
		}
		list.Examples = append(list.Examples, e)
	}
	input := &servingproto.Input{Kind: &servingproto.Input_ExampleList{ExampleList: list}}
	regress := &servingproto.ModelSpec{Name: "m", SignatureName: "regress_examples"}
	a, err := inference.Regress(t.Context(), v, &servingproto.RegressionRequest{ModelSpec: regress, Input: input})
	if err != nil {
		t.Fatal(err)
	}
	both, err := inference.MultiInference(t.Context(), v, &servingproto.MultiInferenceRequest{Input: input, Tasks: []*servingproto.InferenceTask{
		{ModelSpec: regress, MethodName: "tensorflow/serving/regress"},
		{ModelSpec: &servingproto.ModelSpec{Name: "m", SignatureName: "examples"}, MethodName: "tensorflow/serving/classify"},
	}})
	if err != nil || len(both.GetResults()) != 2 {
		t.Fatalf("got %v, %v", both, err)
	}
	want := predicted(t, "regressor", "scores", d) // the value and its negative
	for i := range records {
		value := a.GetResult().GetRegressions()[i].GetValue()
		again := both.Results[0].GetRegressionResult().GetRegressions()[i].GetValue()
		classes := both.Results[1].GetClassificationResult().GetClassifications()[i].GetClasses()
		if value != want[2*i] || again != value || len(classes) != 2 || classes[1].GetScore() != want[2*i+1] {
			t.Errorf("example %d: got %v, %v, %v, want %v", i, value, again, classes, want[2*i:2*i+2])
		}
	}
}

func TestLoaderFeedsNoSignature(t *testing.T) {
	d, _ := points(t, 1)
	base := t.TempDir()
	put(t, base, "windows", 1)
	_, err := New(t.Context(), []ModelConfig{{Name: "m", BasePath: base}}, &Options{FileSystemPollWait: -1, Loaders: map[string]*loaders.Plan{"m": planOf(t, d)}})
	if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `the loader has no tensor x`) {
		t.Errorf("got %v", err)
	}
}
