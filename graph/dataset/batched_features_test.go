package dataset_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// batchedExample returns Example i of testdata/parity/batched_features.py.
func batchedExample(i int64) string {
	words, tags, steps := [][]byte{}, []int64{}, []float32{}
	for k := range i % 3 {
		words = append(words, fmt.Appendf(nil, "w%d", k))
	}
	for k := range i % 4 {
		tags = append(tags, k)
	}
	for k := range i % 5 {
		steps = append(steps, float32(k)/2)
	}
	features := []example.Named{
		{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{i}}},
		{Name: "words", Feature: example.Feature{Kind: example.Bytes, Bytes: words}},
		{Name: "tags", Feature: example.Feature{Kind: example.Int64, Ints: tags}},
		{Name: "steps", Feature: example.Feature{Kind: example.Float, Floats: steps}},
	}
	if i%3 != 0 {
		features = append(features, example.Named{Name: "weight", Feature: example.Feature{Kind: example.Float, Floats: []float32{float32(i), float32(i) + 0.5}}})
	}
	return string(example.Marshal(features))
}

// batchedFiles writes the files of testdata/parity/batched_features.py and returns the
// pattern that matches them.
func batchedFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for file, size := range []int64{4, 3, 5} {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(file, ".tfrecord")))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w := tfrecord.NewWriter(f, tfrecord.None)
		for i := range size {
			if err := w.Write([]byte(batchedExample(int64(10*file) + i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "*.tfrecord")
}

// The batches equal Python's, also when shuffled.
func TestMakeBatchedFeaturesDataset(t *testing.T) {
	recorded := recorded(t, "batched_features.json")
	keyed := func(s *graph.Scope, filename tfbridge.Output) *dataset.Dataset {
		return dataset.TFRecords(s, filename, nil).Map("keyed", func(s *graph.Scope, record outs) outs {
			return outs{s.Const("key"), record[0]}
		}, nil)
	}
	type options = dataset.BatchedFeaturesOptions
	tests := map[string]struct {
		size int64
		all  bool // features of all kinds, not only the id
		options
	}{
		"all kinds":           {4, true, options{Epochs: 1, InOrder: true}},
		"label":               {5, true, options{Epochs: 1, InOrder: true, Label: "id"}},
		"sparse label":        {12, true, options{Epochs: 1, InOrder: true, Label: "words"}},
		"final batch dropped": {5, false, options{Epochs: 1, InOrder: true, DropFinalBatch: true}},
		"without end":         {5, false, options{InOrder: true}},
		"shuffled":            {5, false, options{Epochs: 2, Seed: dataset.DefaultSeed, Seed2: 7}},
		"small buffer":        {3, false, options{Epochs: 2, ShuffleBuffer: 4, Seed: dataset.DefaultSeed, Seed2: 3}},
		"two readers":         {12, false, options{Epochs: 1, InOrder: true, ReaderThreads: 2}},
		"keys":                {12, false, options{Epochs: 1, InOrder: true, Reader: keyed, PrefetchBuffer: 1, ParserThreads: 1}},
	}
	if len(tests) != len(recorded) {
		t.Errorf("%d cases, Python recorded %d", len(tests), len(recorded))
	}
	pattern := batchedFiles(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			f := &graph.ExampleFeatures{Dense: []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}}
			if test.all {
				f.Dense = append(f.Dense,
					graph.DenseFeature{Key: "weight", DType: tfbridge.Float, Shape: tfbridge.MakeShape(2), Default: s.Const([]float32{-1, -2})},
					graph.DenseFeature{Key: "steps", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)})
				f.Sparse = []graph.SparseFeature{{Key: "words", DType: tfbridge.String}}
				f.Ragged = []graph.RaggedFeature{{Key: "tags", DType: tfbridge.Int64}}
			}
			d := dataset.MakeBatchedFeaturesDataset(s, []string{pattern}, test.size, f, &test.options)
			if test.Epochs == 0 {
				d = d.Take(6)
			}
			if diff := cmp.Diff(recorded[name], plain(t, collect[any](t, d))); diff != "" {
				t.Errorf("elements of %v (-Python +got)\n%s", d.Spec(), diff)
			}
		})
	}
}

// A batch size that is known in advance is static, as in Python. Autotune reads one file
// per processor at a time, and loses no record.
func TestBatchedFeaturesSizes(t *testing.T) {
	pattern := batchedFiles(t)
	f := &graph.ExampleFeatures{Dense: []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}}
	s := newScope(t)
	checkSpecs(t, dataset.MakeBatchedFeaturesDataset(s, []string{pattern}, 5, f, nil), "int64[5]")
	d := dataset.MakeBatchedFeaturesDataset(s, []string{pattern}, 5, f, &dataset.BatchedFeaturesOptions{Epochs: 1, ReaderThreads: dataset.Autotune, ParserThreads: dataset.Autotune, Sloppy: true})
	checkSpecs(t, d, "int64[?]")
	sum, n := int64(0), 0
	for _, batch := range collect[struct {
		ID []int64 `tf:"id"`
	}](t, d) {
		for _, id := range batch.ID {
			sum, n = sum+id, n+1
		}
	}
	if n != 12 || sum != 0+1+2+3+10+11+12+20+21+22+23+24 {
		t.Errorf("%d records whose ids make %d", n, sum)
	}
}

func TestWrongBatchedFeatures(t *testing.T) {
	id := &graph.ExampleFeatures{Dense: []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}}
	good := []string{batchedFiles(t)}
	for want, test := range map[string]struct {
		patterns []string
		features *graph.ExampleFeatures
		options  dataset.BatchedFeaturesOptions
	}{
		"no patterns":               {nil, id, dataset.BatchedFeaturesOptions{}},
		"the features are nil":      {good, nil, dataset.BatchedFeaturesOptions{}},
		`label "x" is none of the`:  {good, id, dataset.BatchedFeaturesOptions{Label: "x"}},
		"Epochs is -1":              {good, id, dataset.BatchedFeaturesOptions{Epochs: -1}},
		"returned no dataset":       {good, id, dataset.BatchedFeaturesOptions{Reader: func(*graph.Scope, tfbridge.Output) *dataset.Dataset { return nil }}},
		"must be one vector of str": {good, id, dataset.BatchedFeaturesOptions{Reader: func(s *graph.Scope, _ tfbridge.Output) *dataset.Dataset { return dataset.Range(s, 0, 1, 1) }}},
		"no files match":            {[]string{good[0] + "x"}, id, dataset.BatchedFeaturesOptions{Epochs: 1}},
	} {
		s := newScope(t)
		_, err := tryAll(t, dataset.MakeBatchedFeaturesDataset(s, test.patterns, 2, test.features, &test.options))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
