package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// compositeRow is an element with sparse and ragged parts, including nested ones.
type compositeRow struct {
	Clicks dataset.Sparse[float32] `tf:"clicks"`
	Text   struct {
		Words dataset.Ragged[string]           `tf:"words"`
		Boxes dataset.Ragged[int64]            `tf:"boxes"`
		Tags  map[string]dataset.Sparse[int64] `tf:"tags"`
	} `tf:"text"`
	ID int64 `tf:"id"`
}

// compositeRows returns elements whose parts have different numbers of values, some
// none.
func compositeRows() []compositeRow {
	tag := func(at ...int64) dataset.Sparse[int64] {
		x := dataset.Sparse[int64]{Indices: [][]int64{}, Values: []int64{}, Shape: []int64{9}}
		for _, i := range at {
			x.Indices, x.Values = append(x.Indices, []int64{i}), append(x.Values, 10*i)
		}
		return x
	}
	rows := make([]compositeRow, 3)
	for i := range rows {
		rows[i].ID = int64(i)
		rows[i].Clicks = dataset.Sparse[float32]{Indices: [][]int64{}, Values: []float32{}, Shape: []int64{2, 3}}
		rows[i].Text.Words = dataset.RaggedRows([][]string{{"a", "b"}, {}, {"c"}}[i:])
	}
	rows[1].Clicks.Indices, rows[1].Clicks.Values = [][]int64{{0, 2}, {1, 0}}, []float32{5, 6}
	rows[0].Text.Boxes = dataset.Ragged[int64]{Splits: [][]int64{{0, 1}, {0, 2}}, Values: []int64{1, 2, 3, 4}, Inner: []int64{2}}
	rows[1].Text.Boxes = dataset.Ragged[int64]{Splits: [][]int64{{0, 0, 1}, {0, 0}}, Values: []int64{}, Inner: []int64{2}}
	rows[2].Text.Boxes = dataset.Ragged[int64]{Splits: [][]int64{{0}, {0}}, Values: []int64{}, Inner: []int64{2}}
	for i := range rows {
		rows[i].Text.Tags = map[string]dataset.Sparse[int64]{"x": tag(3), "y": tag([]int64{1, 4, 5}[i:]...)}
	}
	return rows
}

// compositeOptions declare what the types of compositeRow leave open.
func compositeOptions() *dataset.SeqOptions {
	tag := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(9)}
	return &dataset.SeqOptions{Fields: map[string]graph.Spec{
		"clicks": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(2, -1)}, "text.tags.x": tag, "text.tags.y": tag,
		"text.boxes": {DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1, -1, -1, 2)},
	}, Replayable: true}
}

// Sparse and ragged parts arrive as they were sent, one by one and in batches.
func TestFromSeqComposite(t *testing.T) {
	s := newScope(t)
	d := dataset.FromSeq(s, seqOf(compositeRows()...), compositeOptions())
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	const want = "{clicks: sparse float32[2, ?], id: int64[], text: {boxes: ragged int64[?, ?, ?, 2], tags: {x: sparse int64[9], y: sparse int64[9]}, words: ragged string[?, ?]}}"
	if got := d.Spec().String(); got != want {
		t.Errorf("Spec\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff(compositeRows(), collect[compositeRow](t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	batch := collect[compositeBatch](t, d.Batch(3, true))[0]
	clicks := dataset.Sparse[float32]{Indices: [][]int64{{1, 0, 2}, {1, 1, 0}}, Values: []float32{5, 6}, Shape: []int64{3, 2, 3}}
	words := dataset.Ragged[string]{Splits: [][]int64{{0, 3, 5, 6}, {0, 2, 2, 3, 3, 4, 5}}, Values: []string{"a", "b", "c", "c", "c"}}
	if diff := cmp.Diff(clicks, batch.Clicks); diff != "" {
		t.Errorf("a batch of sparse parts (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(words, batch.Text.Words); diff != "" {
		t.Errorf("a batch of ragged parts (-want +got)\n%s", diff)
	}
}

// compositeBatch is what the test reads of a batch.
type compositeBatch struct {
	Clicks dataset.Sparse[float32] `tf:"clicks"`
	Text   struct {
		Words dataset.Ragged[string] `tf:"words"`
	} `tf:"text"`
}

// A fault in a sparse or ragged element is reported with the element's number and part.
func TestFromSeqCompositeMistakes(t *testing.T) {
	for want, spoil := range map[string]func(*compositeRow){
		"index 0 of a sparse tensor is [0 3]":                func(r *compositeRow) { r.Clicks.Indices[0][1] = 3 },
		"2 indices, 1 values and 2 dimensions":               func(r *compositeRow) { r.Clicks.Values = r.Clicks.Values[:1] },
		"another rank or shape than sparse float32[2, ?]":    func(r *compositeRow) { r.Clicks.Shape[0] = 3 },
		"splits 0 of a ragged tensor are not from 0":         func(r *compositeRow) { r.Text.Words.Splits[0][0] = 1 },
		"a ragged tensor has no splits":                      func(r *compositeRow) { r.Text.Words.Splits = nil },
		"another rank or shape than ragged int64[?, ?, ?, 2": func(r *compositeRow) { r.Text.Boxes = dataset.RaggedRows([][]int64{{1}}) },
	} {
		rows := compositeRows()
		spoil(&rows[1])
		d := dataset.FromSeq(newScope(t), seqOf(rows...), compositeOptions())
		_, err := dataset.ToSlice[compositeRow](t.Context(), d, nil)
		var own *millrace.Error
		if !errors.As(err, &own) || own.Record != 1 || own.Class != millrace.ErrSchema || own.Feature == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Sparse and ragged parts whose rank is unknown, or that cannot be joined, are refused.
func TestFromSeqCompositeRefuses(t *testing.T) {
	of := func(dims ...int64) *dataset.SeqOptions {
		return &dataset.SeqOptions{Spec: graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(dims...)}}
	}
	for want, build := range map[string]func(s *graph.Scope){
		"MapOf": func(s *graph.Scope) {
			dataset.FromSeq(s, seqOf(dataset.Sparse[int64]{}), &dataset.SeqOptions{Batch: 2})
		},
		"no ragged dimension":                     func(s *graph.Scope) { dataset.FromSeq(s, seqOf(dataset.Ragged[int64]{}), of(-1, 2)) },
		"the options say none":                    func(s *graph.Scope) { dataset.FromSeq(s, seqOf(dataset.Sparse[int64]{}), of()) },
		"is of type int32, the options say int64": func(s *graph.Scope) { dataset.FromSeq(s, seqOf(dataset.Sparse[int32]{}), of(2)) },
		"are no numbers, bools or strings":        func(s *graph.Scope) { dataset.FromSeq(s, seqOf(dataset.Sparse[[]byte]{}), nil) },
	} {
		s := newScope(t)
		build(s)
		isClass(t, s.Err(), millrace.ErrModel)
		if s.Err() != nil && !strings.Contains(s.Err().Error(), want) {
			t.Errorf("got %v, want %s", s.Err(), want)
		}
	}
}

// Structs and maps may be parts of elements.
func TestFromSeqNested(t *testing.T) {
	type box struct {
		Corner [2]int32         `tf:"corner"`
		Scores map[string]int64 `tf:"scores"`
	}
	type image struct {
		Name string `tf:"name"`
		Box  box    `tf:"box"`
	}
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	want := []image{{"a", box{[2]int32{1, 2}, map[string]int64{"x": 3, "y": 4}}}, {"b", box{[2]int32{5, 6}, map[string]int64{"x": 7, "y": 8}}}}
	o := &dataset.SeqOptions{Fields: map[string]graph.Spec{"box.scores.x": scalar, "box.scores.y": scalar}}
	d := dataset.FromSeq(newScope(t), seqOf(want...), o)
	if got, want := d.Spec().String(), "{box: {corner: int32[2], scores: {x: int64[], y: int64[]}}, name: string[]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got, err := dataset.ToSlice[image](t.Context(), d, nil)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}

	delete(want[1].Box.Scores, "y")
	_, err = dataset.ToSlice[image](t.Context(), dataset.FromSeq(newScope(t), seqOf(want...), o), nil)
	var own *millrace.Error
	if !errors.As(err, &own) || own.Feature != "box.scores.x" || own.Record != 1 || own.Class != millrace.ErrSchema {
		t.Errorf("a map without an entry: got %#v", own)
	}
	for _, fields := range []map[string]graph.Spec{nil, {"box.scores.x": scalar, "box.colour": scalar}} {
		s := newScope(t)
		dataset.FromSeq(s, seqOf(want...), &dataset.SeqOptions{Fields: fields})
		isClass(t, s.Err(), millrace.ErrModel)
	}
}
