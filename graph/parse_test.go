package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// record is an Example with an id, some tags and perhaps a weight.
func record(id int64, weight []float32, tags ...string) string {
	features := []example.Named{
		{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{id}}},
		{Name: "tags", Feature: example.Feature{Kind: example.Bytes, Bytes: bytesOf(tags)}},
	}
	if weight != nil {
		features = append(features, example.Named{
			Name: "weight", Feature: example.Feature{Kind: example.Float, Floats: weight},
		})
	}
	return string(example.Marshal(features))
}

func bytesOf(values []string) [][]byte {
	list := make([][]byte, len(values))
	for i, v := range values {
		list[i] = []byte(v)
	}
	return list
}

// features are those of record: id, weight with a default, tags as they are.
func features(s *graph.Scope) *graph.ExampleFeatures {
	return &graph.ExampleFeatures{
		Dense: []graph.DenseFeature{
			{Key: "weight", DType: tfbridge.Float, Shape: tfbridge.MakeShape(2), Default: s.Const([]float32{-1, -1})},
			{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
		},
		Sparse: []graph.SparseFeature{{Key: "tags", DType: tfbridge.String}},
	}
}

func TestParseExampleV2(t *testing.T) {
	s := graphtest.NewScope(t)
	f := features(s)
	f.Sparse = nil
	f.Ragged = []graph.RaggedFeature{{Key: "tags", DType: tfbridge.String}}
	records := s.Const([]string{record(7, []float32{1, 2}, "a", "b"), record(8, nil)})
	p := graph.ParseExampleV2(s, records, f)
	want := []any{[][]float32{{1, 2}, {-1, -1}}, []int64{7, 8}, []string{"a", "b"}, []int64{0, 2, 2}}
	got := run(t, s, p.Dense[0], p.Dense[1], p.Ragged[0].Values, p.Ragged[0].RowSplits)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	if spec := graph.SpecOf(p.Dense[0]).String(); spec != "float32[2, 2]" {
		t.Errorf("spec of the weight: %s", spec)
	}
}

func TestParseExampleV2PadsUnknownDimensions(t *testing.T) {
	s := graphtest.NewScope(t)
	f := &graph.ExampleFeatures{
		Dense: []graph.DenseFeature{{Key: "tags", DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}},
	}
	p := graph.ParseExampleV2(s, s.Const([]string{record(1, nil, "a", "b"), record(2, nil, "c")}), f)
	if diff := cmp.Diff([]any{[][]string{{"a", "b"}, {"c", ""}}}, run(t, s, p.Dense...)); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
}

func TestParseSingleExample(t *testing.T) {
	s := graphtest.NewScope(t)
	p := graph.ParseSingleExample(s, s.Const(record(7, nil, "a", "b")), features(s))
	want := []any{[]float32{-1, -1}, int64(7), [][]int64{{0}, {1}}, []string{"a", "b"}, []int64{2}}
	tags := p.Sparse[0]
	got := run(t, s, p.Dense[0], p.Dense[1], tags.Indices, tags.Values, tags.Shape)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	f := features(s)
	f.Ragged = []graph.RaggedFeature{{Key: "more"}}
	graph.ParseSingleExample(s, s.Const(""), f)
	if s.Err() == nil {
		t.Error("ragged features were accepted")
	}
}

// Error messages contain the names of records.
func TestExampleNames(t *testing.T) {
	weight := []graph.DenseFeature{{Key: "weight", DType: tfbridge.Float, Shape: tfbridge.ScalarShape()}}
	none := record(7, nil)
	tests := []struct {
		name  string
		parse func(s *graph.Scope) *graph.ParsedExample
	}{
		{"several", func(s *graph.Scope) *graph.ParsedExample {
			return graph.ParseExampleV2(s, s.Const([]string{record(6, []float32{1}), none}), &graph.ExampleFeatures{
				Dense: weight, ExampleNames: s.Const([]string{"day.tfrecord:0", "day.tfrecord:1"}),
			})
		}},
		{"one", func(s *graph.Scope) *graph.ParsedExample {
			return graph.ParseSingleExample(s, s.Const(none), &graph.ExampleFeatures{Dense: weight, ExampleNames: s.Const("day.tfrecord:1")})
		}},
		{"several sequences", func(s *graph.Scope) *graph.ParsedExample {
			id := []graph.DenseFeature{{Key: "id", DType: tfbridge.Float, Shape: tfbridge.ScalarShape()}}
			f := &graph.SequenceFeatures{Context: graph.ExampleFeatures{Dense: id, ExampleNames: s.Const([]string{"day.tfrecord:1"})}}
			return &graph.ParseSequenceExampleV2(s, s.Const([]string{none}), f).Context
		}},
		{"one sequence", func(s *graph.Scope) *graph.ParsedExample {
			f := &graph.SequenceFeatures{Context: graph.ExampleFeatures{Dense: weight, ExampleNames: s.Const("day.tfrecord:1")}}
			return &graph.ParseSingleSequenceExample(s, s.Const(none), f).Context
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			_, err := tryRun(t, s, tt.parse(s).Dense...)
			if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "day.tfrecord:1") {
				t.Errorf("got %v, want an error with the record's name", err)
			}
		})
	}
	s := graphtest.NewScope(t)
	f := features(s)
	f.ExampleNames = s.Const("day.tfrecord:0")
	p := graph.ParseSingleExample(s, s.Const(record(7, nil, "a", "b")), f)
	want := []any{[]float32{-1, -1}, int64(7), [][]int64{{0}, {1}}, []string{"a", "b"}, []int64{2}}
	tags := p.Sparse[0]
	if diff := cmp.Diff(want, run(t, s, p.Dense[0], p.Dense[1], tags.Indices, tags.Values, tags.Shape)); diff != "" {
		t.Errorf("values with a name (-want +got)\n%s", diff)
	}
}

func TestMissingFeature(t *testing.T) {
	s := graphtest.NewScope(t)
	f := &graph.ExampleFeatures{
		Dense: []graph.DenseFeature{{Key: "weight", DType: tfbridge.Float, Shape: tfbridge.ScalarShape()}},
	}
	p := graph.ParseSingleExample(s, s.Const(record(7, nil)), f)
	if _, err := tryRun(t, s, p.Dense...); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("error %v", err)
	}
}

// sequence is a SequenceExample with an id and a list of frames of two values.
func sequence(id int64, frames ...[]float32) string {
	list := example.NamedList{Name: "frames"}
	for _, f := range frames {
		list.Features = append(list.Features, example.Feature{Kind: example.Float, Floats: f})
	}
	context := []example.Named{{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{id}}}}
	return string(example.MarshalSequence(context, []example.NamedList{list}))
}

func sequenceFeatures() *graph.SequenceFeatures {
	return &graph.SequenceFeatures{
		Context: graph.ExampleFeatures{
			Dense: []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}},
		},
		Lists: []graph.ListFeature{
			{Key: "frames", DType: tfbridge.Float, Shape: tfbridge.MakeShape(2)},
			{Key: "absent", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape(), AllowMissing: true},
		},
	}
}

func TestParseSingleSequenceExample(t *testing.T) {
	s := graphtest.NewScope(t)
	p := graph.ParseSingleSequenceExample(s, s.Const(sequence(7, []float32{1, 2}, []float32{3, 4})), sequenceFeatures())
	want := []any{int64(7), [][]float32{{1, 2}, {3, 4}}, []int64{}}
	if diff := cmp.Diff(want, run(t, s, p.Context.Dense[0], p.Lists[0], p.Lists[1])); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	if spec := graph.SpecOf(p.Lists[0]).String(); spec != "float32[?, 2]" {
		t.Errorf("spec of the frames: %s", spec)
	}
}

func TestParseSequenceExampleV2(t *testing.T) {
	s := graphtest.NewScope(t)
	records := s.Const([]string{sequence(7, []float32{1, 2}), sequence(8, []float32{3, 4}, []float32{5, 6})})
	f := sequenceFeatures()
	p := graph.ParseSequenceExampleV2(s, records, f)
	want := []any{[]int64{7, 8}, [][][]float32{{{1, 2}, {0, 0}}, {{3, 4}, {5, 6}}}, []int64{1, 2}}
	if diff := cmp.Diff(want, run(t, s, p.Context.Dense[0], p.Lists[0], p.Lengths[0])); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	f.Lists = f.Lists[1:]
	f.RaggedLists = []graph.RaggedListFeature{{Key: "frames", DType: tfbridge.Float}}
	p = graph.ParseSequenceExampleV2(s, records, f)
	want = []any{[]float32{1, 2, 3, 4, 5, 6}, []int64{0, 2, 4, 6}, []int64{0, 1, 3}}
	r := p.RaggedLists[0]
	if diff := cmp.Diff(want, run(t, s, r.Values, r.Inner, r.Outer)); diff != "" {
		t.Errorf("ragged values (-want +got)\n%s", diff)
	}
}
