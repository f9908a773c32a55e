package dataset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// parted is an element with parts behind pointers and interfaces.
type parted struct {
	ID     *int64
	Any    any
	Boxes  dataset.Ragged[int32]
	Names  map[string][]string
	Nested *struct{ Deep float64 }
}

// Rows may contain pointers, interfaces, maps and ragged values with an inner shape.
// Decoding into the same type returns the same rows.
func TestRowsOfParts(t *testing.T) {
	one, two := int64(1), int64(2)
	boxes := func(v ...int32) dataset.Ragged[int32] {
		return dataset.Ragged[int32]{Splits: [][]int64{{0, int64(len(v) / 2)}}, Values: v, Inner: []int64{2}}
	}
	rows := []parted{
		{&one, int32(5), boxes(1, 2, 3, 4), map[string][]string{"a": {"x"}, "b": {}}, &struct{ Deep float64 }{1.5}},
		{&two, int32(6), boxes([]int32{}...), map[string][]string{"a": {}, "b": {"y", "z"}}, &struct{ Deep float64 }{2.5}},
	}
	s := newScope(t)
	d := dataset.FromRows(s, rows)
	const want = "{Any: int32[], Boxes: ragged int32[?, ?, 2], ID: int64[], Names: {a: string[?], b: string[?]}, Nested: {Deep: float64[]}}"
	if got := d.Spec().String(); s.Err() != nil || got != want {
		t.Errorf("error %v\n got %s\nwant %s", s.Err(), got, want)
	}
	if diff := cmp.Diff(rows, collect[parted](t, d)); diff != "" {
		t.Errorf("rows (-want +got)\n%s", diff)
	}
	maps := []map[string]*int64{{"a": &one, "b": &two}, {"a": &two, "b": &one}}
	if diff := cmp.Diff(maps, collect[map[string]*int64](t, dataset.FromRows(s, maps))); diff != "" {
		t.Errorf("maps (-want +got)\n%s", diff)
	}
}

// A value of every kind is flattened, datasets and tensors included, and bound
// again as it was.
func TestFlattenAndBind(t *testing.T) {
	s := newScope(t)
	number, err := tfbridge.NewTensor(int64(7))
	if err != nil {
		t.Fatal(err)
	}
	defer number.Close()
	ragged := func(splits any) graph.RaggedTensor {
		return graph.RaggedTensor{RowSplits: s.Const(splits), Values: s.Const([]float32{1, 2, 3})}
	}
	value := map[string]any{
		"inner":  dataset.Range(s, 0, 3, 1),
		"number": number,
		"one":    ragged([]int32{0, 1, 3}),
		"two":    dataset.RaggedOutput{Splits: outs{s.Const([]int64{0, 2}), s.Const([]int64{0, 1, 3})}, Values: s.Const([]string{"a", "b", "c"})},
		"tuple":  []any{[]int{1, 2}, int16(3)},
	}
	d := dataset.FromValue(s, value)
	const want = "{inner: dataset int64[], number: int64[], one: ragged float32[2, ?], tuple: (int64[2], int16[]), two: ragged string[1, ?, ?]}"
	if got := d.Spec().String(); s.Err() != nil || got != want {
		t.Fatalf("error %v\n got %s\nwant %s", s.Err(), got, want)
	}
	type bound struct {
		Inner  *dataset.Dataset     `tf:"inner"`
		Number out                  `tf:"number"`
		One    graph.RaggedTensor   `tf:"one"`
		Two    dataset.RaggedOutput `tf:"two"`
		Tuple  struct{ A, B any }   `tf:"tuple"`
	}
	mapped := dataset.MapOf(d, "bound", func(s *graph.Scope, e bound) any {
		sum := e.Inner.Reduce("sum", outs{s.Const(int64(0))}, func(s *graph.Scope, state, args outs) outs {
			return outs{graph.Add(s, state[0], args[0])}
		})
		return map[string]any{"sum": sum[0], "number": e.Number, "one": e.One, "two": e.Two, "b": e.Tuple.B}
	}, nil)
	type element struct {
		Sum    int64                   `tf:"sum"`
		Number int64                   `tf:"number"`
		One    dataset.Ragged[float32] `tf:"one"`
		Two    [][][]string            `tf:"two"`
		B      int16                   `tf:"b"`
	}
	got, err := dataset.First[element](t.Context(), mapped, nil)
	wantElement := element{3, 7, dataset.Ragged[float32]{Splits: [][]int64{{0, 1, 3}}, Values: []float32{1, 2, 3}}, [][][]string{{{"a"}, {"b", "c"}}}, 3}
	if diff := cmp.Diff(wantElement, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got)\n%s", err, diff)
	}
}

// A saved dataset records the structure of its elements, including tuples and ragged
// parts. A damaged structure is an error.
func TestSavedSpecs(t *testing.T) {
	dir := t.TempDir()
	value := []any{map[string]any{"a": int64(1)}, []any{[]float32{1}, "x"}, dataset.RaggedRows([][]int32{{1}, {2, 3}})}
	s := newScope(t)
	d := dataset.FromValue(s, value)
	if err := d.Save(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	loaded := dataset.Load(s, dir, nil)
	if got, want := loaded.Spec().String(), d.Spec().String(); got != want {
		t.Errorf("structure\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff(collect[any](t, d), collect[any](t, loaded)); diff != "" {
		t.Errorf("elements (-saved +loaded)\n%s", diff)
	}
	spec := filepath.Join(dir, "dataset_spec.pb")
	for text, class := range map[string]millrace.Class{"\xff": millrace.ErrCorrupt, "": millrace.ErrModel} {
		if err := os.WriteFile(spec, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newScope(t)
		dataset.Load(s, dir, nil)
		isClass(t, s.Err(), class)
		if !strings.Contains(s.Err().Error(), spec) {
			t.Errorf("%q: %v does not name %s", text, s.Err(), spec)
		}
	}
	other := filepath.Join(spec, "below a file")
	isClass(t, d.Save(t.Context(), other, nil), millrace.ErrIO)
}

// Elements of a sequence may be maps and pointers; a missing, nil or further
// part is an error at its element.
func TestSequencesOfMapsAndPointers(t *testing.T) {
	o := &dataset.SeqOptions{Fields: map[string]graph.Spec{
		"a": {DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}, "b": {DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
	}}
	good := map[string]int64{"a": 1, "b": 2}
	for want, bad := range map[string]map[string]int64{
		"3 entries, want 2":        {"a": 1, "b": 2, "c": 3},
		`the entry "b" is missing`: {"a": 1, "c": 3},
		"":                         good,
	} {
		got, err := dataset.ToSlice[map[string]int64](t.Context(), dataset.FromSeq(newScope(t), seqOf(good, bad), o), nil)
		if want == "" && (err != nil || len(got) != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), "record 1") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: got %v, %v", bad, got, err)
		}
		if diff := cmp.Diff(good, got[0]); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	type pair struct{ X int64 }
	_, err := tryAll(t, dataset.FromSeq(newScope(t), seqOf(&pair{1}, nil), nil))
	if err == nil || !strings.Contains(err.Error(), "the element is nil") {
		t.Errorf("got %v", err)
	}
	batches := collect[[]int64](t, dataset.FromSeq(newScope(t), seqOf[int64](1, 2), &dataset.SeqOptions{Batch: 1}))
	if diff := cmp.Diff([][]int64{{1}, {2}}, batches); diff != "" {
		t.Errorf("batches of one (-want +got)\n%s", diff)
	}
}

// Short calls are equivalent to their long forms with default options.
func TestDefaults(t *testing.T) {
	s := newScope(t)
	down := dataset.Counter(s, 5, -2).Take(4)
	if diff := cmp.Diff([]int64{5, 3, 1, -1}, collect[int64](t, down)); diff != "" {
		t.Errorf("counting down (-want +got)\n%s", diff)
	}
	if got := collect[int64](t, dataset.Random(s, nil).Take(3)); len(got) != 3 || got[0] == got[1] {
		t.Errorf("random numbers %v", got)
	}
	seen := map[int64]bool{}
	for _, v := range collect[int64](t, dataset.Sample(s, ranges(s, 0, 3, 10, 13), nil)) {
		seen[v] = true
	}
	if len(seen) != 6 {
		t.Errorf("sampled %v", seen)
	}
	length := func(_ *graph.Scope, args outs) out { return args[0] }
	buckets := dataset.Range(s, 0, 6, 1).BucketByLength("b", &dataset.Buckets{
		Length: length, Boundaries: []int64{3}, Sizes: []int64{2, 3}, NoPadding: true,
	})
	if diff := cmp.Diff([][]int64{{0, 1}, {2, 3}, {4, 5}}, collect[[]int64](t, buckets)); diff != "" {
		t.Errorf("buckets (-want +got)\n%s", diff)
	}
}
