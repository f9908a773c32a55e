package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// record is an Example with an id, and a weight of two values if there are any.
func record(id int64, weight ...float32) string {
	features := []example.Named{{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{id}}}}
	if len(weight) > 0 {
		features = append(features, example.Named{
			Name: "weight", Feature: example.Feature{Kind: example.Float, Floats: weight},
		})
	}
	return string(example.Marshal(features))
}

func TestParseExample(t *testing.T) {
	for _, o := range []*dataset.ParseExampleOptions{nil, {Parallel: 2}, {Parallel: dataset.Autotune}, {Parallel: 2, Sloppy: true}} {
		s := newScope(t)
		f := &graph.ExampleFeatures{Dense: []graph.DenseFeature{
			{Key: "weight", DType: tfbridge.Float, Shape: tfbridge.MakeShape(2), Default: s.Const([]float32{-1, -2})},
			{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
			{Key: "name", DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)},
		}}
		d := dataset.FromSlices(s, s.Const([]string{record(1, 1, 2), record(2)})).Batch(2, true).ParseExample(f, o)
		want := []any{[]any{[]int64{1, 2}, [][]string{{}, {}}, [][]float32{{1, 2}, {-1, -2}}}}
		if diff := cmp.Diff(want, all(t, d)); diff != "" {
			t.Errorf("batches (-want +got)\n%s", diff)
		}
		checkSpecs(t, d, "int64[2]", "string[2, ?]", "float32[2, 2]")
		if diff := cmp.Diff([]string{"id", "name", "weight"}, dataset.ParsedOrder(f)); diff != "" {
			t.Errorf("order (-want +got)\n%s", diff)
		}
	}
}

func TestParseExampleOfOtherKinds(t *testing.T) {
	s := newScope(t)
	f := &graph.ExampleFeatures{
		Dense:  []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}},
		Sparse: []graph.SparseFeature{{Key: "weight", DType: tfbridge.Float}},
		Ragged: []graph.RaggedFeature{{Key: "a", DType: tfbridge.Float}},
	}
	d := dataset.FromSlices(s, s.Const([]string{record(1, 1, 2), record(2)})).Batch(2, false).ParseExample(f, nil)
	checkSpecs(t, d, "variant[...]", "int64[?]", "variant[...]")
	plain := d.Map("plain", func(s *graph.Scope, args outs) outs {
		weights := s.Op("DeserializeSparse", map[string]any{"dtype": tfbridge.Float}, args[2])
		return append(outs{args[1]}, weights...)
	}, nil)
	want := []any{[]any{[]int64{1, 2}, [][]int64{{0, 0}, {0, 1}}, []float32{1, 2}, []int64{2, 2}}}
	if diff := cmp.Diff(want, all(t, plain)); diff != "" {
		t.Errorf("batches (-want +got)\n%s", diff)
	}
}

func TestParseExampleMistakes(t *testing.T) {
	f := &graph.ExampleFeatures{Dense: []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}}
	s := newScope(t)
	dataset.FromSlices(s, s.Const([]string{record(1)})).ParseExample(f, nil)
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "must be one vector of strings") {
		t.Errorf("single records: %v", err)
	}
	s = newScope(t)
	f.Ragged = []graph.RaggedFeature{{Key: "id", DType: tfbridge.Int64}}
	dataset.FromSlices(s, s.Const([]string{record(1)})).Batch(1, false).ParseExample(f, nil)
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), `feature "id" is to be parsed twice`) {
		t.Errorf("repeated key: %v", err)
	}
	s = newScope(t)
	f.Ragged = nil
	d := dataset.FromSlices(s, s.Const([]string{record(1), "\xff\xff"})).Batch(1, false).ParseExample(f, nil)
	got, err := tryAll(t, d)
	if !errors.Is(err, tfbridge.InvalidArgument) || len(got) != 1 {
		t.Errorf("bad record: %v after %v", err, got)
	}
}
