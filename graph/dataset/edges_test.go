package dataset_test

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

// anyOf decodes one part to an any. The tensors are closed after the test.
func anyOf(t *testing.T, part *dataset.Structure, tensors ...any) (v any, err error) {
	t.Helper()
	element := make([]*tfbridge.Tensor, len(tensors))
	for i, value := range tensors {
		var err error
		if element[i], err = tfbridge.NewTensor(value); err != nil {
			t.Fatal(err)
		}
		defer element[i].Close()
	}
	err = dataset.Decode(part, element, &v)
	return v, err
}

// partsAsAny decodes a sparse and a ragged part of one type as any.
func partsAsAny[T any](t *testing.T, values ...T) {
	t.Helper()
	x, err := tfbridge.NewTensor(values)
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	unknown := tfbridge.MakeShape(-1, -1)
	got, err := anyOf(t, dataset.SparseSpec(x.DataType(), unknown), [][]int64{{0, 1}, {2, 0}}, values, []int64{3, 4})
	if diff := cmp.Diff(any(dataset.Sparse[T]{Indices: [][]int64{{0, 1}, {2, 0}}, Values: values, Shape: []int64{3, 4}}), got); diff != "" || err != nil {
		t.Errorf("sparse %T: %v (-want +got)\n%s", values, err, diff)
	}
	narrow := dataset.RaggedSpec(x.DataType(), unknown, 1)
	narrow.Splits = tfbridge.Int32
	got, err = anyOf(t, narrow, []int32{0, 2, 2}, values)
	if diff := cmp.Diff(any(dataset.Ragged[T]{Splits: [][]int64{{0, 2, 2}}, Values: values}), got); diff != "" || err != nil {
		t.Errorf("ragged %T: %v (-want +got)\n%s", values, err, diff)
	}
}

// Sparse and ragged parts decode to Sparse and Ragged when the target is any.
func TestPartsAsAny(t *testing.T) {
	partsAsAny[float32](t, 1, 2)
	partsAsAny[float64](t, 1, 2)
	partsAsAny[int64](t, 1, 2)
	partsAsAny[int32](t, 1, 2)
	partsAsAny[uint8](t, 1, 2)
	partsAsAny(t, true, false)
	partsAsAny(t, "a", "b")
	ragged := dataset.RaggedSpec(tfbridge.Float, tfbridge.MakeShape(-1, -1, -1), 2)
	want := dataset.Ragged[float32]{Splits: [][]int64{{0, 1}, {0, 2}}, Values: []float32{1, 2, 3, 4}, Inner: []int64{2}}
	if got, err := anyOf(t, ragged, []int64{0, 1}, []int64{0, 2}, [][]float32{{1, 2}, {3, 4}}); !cmp.Equal(got, any(want)) || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, part := range []*dataset.Structure{
		dataset.SparseSpec(tfbridge.Int16, tfbridge.MakeShape(3)), dataset.RaggedSpec(tfbridge.Int16, tfbridge.MakeShape(1, -1), 2),
	} {
		v, err := anyOf(t, part, []int64{0}, []int16{1}, []int64{3})
		if v != nil || !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "interface {} cannot hold "+part.String()) {
			t.Errorf("%v: %v, %v", part, v, err)
		}
	}
	number := dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())
	if v, err := anyOf(t, number, int64(1), int64(2)); v != nil || !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "2 tensors are no int64[]") {
		t.Errorf("two tensors: %v, %v", v, err)
	}
	if v, err := anyOf(t, dataset.RaggedSpec(tfbridge.Int64, tfbridge.MakeShape(2), 0), []int64{1, 2}); !cmp.Equal(v, any([]int64{1, 2})) || err != nil {
		t.Errorf("a ragged part of rank 0: %v, %v", v, err)
	}
}

// Appending to a row of a ragged part does not overwrite the next row.
func TestRaggedRowsAreApart(t *testing.T) {
	x, err := tfbridge.NewTensor([]int32{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	splits, err := tfbridge.NewTensor([]int64{0, 1, 3})
	if err != nil {
		t.Fatal(err)
	}
	defer splits.Close()
	var rows [][]int32
	part := dataset.RaggedSpec(tfbridge.Int32, tfbridge.MakeShape(2, -1), 1)
	if err := dataset.Decode(part, []*tfbridge.Tensor{splits, x}, &rows); err != nil {
		t.Fatal(err)
	}
	_ = append(rows[0], 9)
	if diff := cmp.Diff([][]int32{{1}, {2, 3}}, rows); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A sparse or ragged tensor with an unset part is an error.
func TestPartsThatAreNotSet(t *testing.T) {
	s := newScope(t)
	x := s.Const([]int64{0})
	whole := graph.SparseTensor{Indices: s.Const([][]int64{{0}}), Values: x, Shape: x}
	sparse := func(change func(x *graph.SparseTensor)) graph.SparseTensor {
		part := whole
		change(&part)
		return part
	}
	for want, values := range map[string][]any{
		"a part of a sparse tensor is not set": {
			sparse(func(x *graph.SparseTensor) { x.Indices = out{} }), sparse(func(x *graph.SparseTensor) { x.Values = out{} }),
			sparse(func(x *graph.SparseTensor) { x.Shape = out{} }),
		},
		"a part of a ragged tensor is not set": {
			graph.RaggedTensor{Values: x}, graph.RaggedTensor{RowSplits: x}, dataset.RaggedOutput{Values: x, Splits: outs{x, {}}}, dataset.RaggedOutput{Splits: outs{x}},
		},
		"an output is not set": {out{}, []out{x, {}}},
	} {
		for _, value := range values {
			s := graph.NewScopeWithGraph(s.Graph())
			if dataset.Flatten(s, value); !errors.Is(s.Err(), millrace.ErrModel) || !strings.Contains(s.Err().Error(), want) {
				t.Errorf("%+v: %v, want %s", value, s.Err(), want)
			}
		}
	}
	if _, spec := dataset.Flatten(s, []any{whole, graph.SparseTensor{Indices: whole.Indices, Values: x, Shape: s.Placeholder(tfbridge.Int64, tfbridge.Shape{})}}); spec.String() != "(sparse int64[?], sparse int64[...])" {
		t.Errorf("structure %v", spec)
	}
	if _, spec := dataset.Flatten(s, dataset.RaggedOutput{Values: x}); spec.String() != "ragged int64[...]" || spec.RaggedRank != 0 || s.Err() != nil {
		t.Errorf("structure %v of rank %d, %v", spec, spec.RaggedRank, s.Err())
	}
}

// A dataset without rows, or with padding, has the same structure as others.
func TestStructuresOfFewRows(t *testing.T) {
	s := newScope(t)
	if got := dataset.FromRows(s, [][]int64{}).Spec().String(); got != "int64[?]" {
		t.Errorf("lists of no row: %s", got)
	}
	fields := dataset.FromValue(s, map[string]any{"a": []int64{1}, "b": "x"})
	if got := fields.PaddedBatch(2, nil).Spec().String(); s.Err() != nil || got != "{a: int64[?, 1], b: string[?]}" {
		t.Errorf("padded batches: %s, %v", got, s.Err())
	}
}

// Elements of a feed that is full wait for room in the order of their pushes.
func TestPushWaitsForRoom(t *testing.T) {
	f := dataset.NewFeed[int64](&dataset.FeedOptions{Buffer: 1})
	if err := f.Push(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	pushed := make(chan error)
	go func() {
		pushed <- f.Push(t.Context(), 2)
		f.Close()
	}()
	stacks := make([]byte, 1<<20)
	for !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "Feed[...]).Push(") {
		runtime.Gosched()
	}
	select {
	case err := <-pushed:
		t.Fatalf("pushed to a full feed: %v", err)
	default:
	}
	read := make(chan []any)
	go func() { read <- all(t, dataset.FromFeed(newScope(t), f, nil)) }()
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(values(1, 2), <-read); diff != "" || f.Dropped() != 0 {
		t.Errorf("%d dropped (-want +got)\n%s", f.Dropped(), diff)
	}
}

// Invalid weights are refused, each with its reason. A dataset of weight 0 is never chosen.
func TestWeights(t *testing.T) {
	s := newScope(t)
	two := ranges(s, 0, 3, 10, 13)
	for want, weights := range map[string][]float64{
		"weight 0 is NaN": {math.NaN(), 1}, "weight 1 is +Inf": {1, math.Inf(1)}, "weight 0 is -1": {-1, 2}, "all weights are 0": {0, 0},
		"3 weights for 2 datasets": {1, 1, 1}, "1 weights for 2 datasets": {1},
	} {
		s := graph.NewScopeWithGraph(s.Graph())
		if dataset.Sample(s, two, &dataset.SampleOptions{Weights: weights}); !errors.Is(s.Err(), millrace.ErrModel) || !strings.Contains(s.Err().Error(), want) {
			t.Errorf("%v: %v, want %s", weights, s.Err(), want)
		}
	}
	vector := func(dt tfbridge.DataType, dims ...int64) *dataset.Dataset {
		return dataset.FromTensors(s, s.Placeholder(dt, tfbridge.MakeShape(dims...)))
	}
	for _, tt := range []struct {
		of    *dataset.Dataset
		wrong string
	}{
		{vector(tfbridge.Float, 2), ""}, {vector(tfbridge.Double, -1), ""}, {dataset.FromTensors(s, s.Placeholder(tfbridge.Float, tfbridge.Shape{})), ""},
		{vector(tfbridge.Int64, 2), "int64[2]"}, {vector(tfbridge.Float, 3), "float32[3]"}, {vector(tfbridge.Float, 0), "float32[0]"}, {vector(tfbridge.Float), "float32[]"},
		{vector(tfbridge.Float, 1, 2), "float32[1, 2]"}, {dataset.Zip(s, vector(tfbridge.Float, 2), vector(tfbridge.Float, 2)), "(float32[2], float32[2])"},
	} {
		s := graph.NewScopeWithGraph(s.Graph())
		dataset.Sample(s, two, &dataset.SampleOptions{WeightsOf: tt.of})
		if tt.wrong == "" && s.Err() != nil || tt.wrong != "" && (s.Err() == nil || !strings.Contains(s.Err().Error(), "weights are "+tt.wrong+", must be a vector of 2 numbers")) {
			t.Errorf("%v: %v", tt.of.Spec(), s.Err())
		}
	}
	for _, choices := range []*dataset.Dataset{vector(tfbridge.Int64, 1), vector(tfbridge.Int32), dataset.Zip(s, vector(tfbridge.Int64), vector(tfbridge.Int64))} {
		s := graph.NewScopeWithGraph(s.Graph())
		if dataset.Choose(s, choices, two, nil); s.Err() == nil || !strings.Contains(s.Err().Error(), "must be int64 scalars") {
			t.Errorf("choices of %v: %v", choices.Spec(), s.Err())
		}
	}
	if diff := cmp.Diff(values(10, 11, 12), all(t, dataset.Sample(s, two, &dataset.SampleOptions{Weights: []float64{0, 5}}))); diff != "" {
		t.Errorf("a weight of 0 (-want +got)\n%s", diff)
	}
}

// An iteration that fails reads the names of the pipeline's files, and leaks no tensor. It
// ignores names that are not constants.
func TestDamageBesideOtherFiles(t *testing.T) {
	sound := writeRecords(t, "sound", "", "a", "b")
	damaged := writeRecords(t, "damaged", "", "a", "b")
	raw, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-5]++
	if err := os.WriteFile(damaged, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	noneLeft := leak.Objects(t, tfbridge.Live)
	s := graph.NewScope()
	name := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	o := &dataset.TFRecordsOptions{TensorFlow: true}
	fed := dataset.TFRecords(s, name, o)
	d := dataset.TFRecords(s, s.Const([]string{sound, damaged}), o).Concatenate(fed.Take(0))
	x, err := tfbridge.NewTensor(sound)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for element, err := range d.All(t.Context(), &dataset.IterateOptions{Feeds: map[out]*tfbridge.Tensor{name: x}}) {
		var e *millrace.Error
		switch n++; {
		case n < 4 && (err != nil || len(element) != 1):
			t.Errorf("record %d: %v", n, err)
		case n == 4 && (!errors.As(err, &e) || e.File != damaged || e.Record != 1 || !errors.Is(err, tfbridge.DataLoss)):
			t.Errorf("got %v", err)
		}
	}
	if n != 4 {
		t.Errorf("%d elements and errors, want 4", n)
	}
	if err := errors.Join(x.Close(), s.Graph().Close()); err != nil {
		t.Error(err)
	}
	noneLeft()
}

// Explain stops when its context is done, and returns that error.
func TestExplainIsCanceled(t *testing.T) {
	s := newScope(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range []int64{0, 5} {
		e, err := dataset.Range(s, 0, 9, 1).Explain(ctx, &dataset.ExplainOptions{Elements: n})
		if e != nil || !errors.Is(err, millrace.ErrCanceled) && !errors.Is(err, context.Canceled) {
			t.Errorf("%d elements: %+v, %v", n, e, err)
		}
	}
	var none context.Context
	if _, err := dataset.Range(s, 0, 9, 1).Explain(none, nil); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("without a context: %v", err)
	}
}
