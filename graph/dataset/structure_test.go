package dataset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
)

// everything is an element with every kind of part.
type everything struct {
	ID     int64                   `tf:"id"`
	Vector []float32               `tf:"vector"`
	Words  []string                `tf:"words"` // any number of words
	Jagged [][]int32               `tf:"jagged"`
	Clicks dataset.Sparse[float32] `tf:"clicks"`
	Meta   struct {
		OK   bool   `tf:"ok"`
		Name string `tf:"name"`
	} `tf:"meta"`
}

func everyKind() []everything {
	all := []everything{
		{ID: 1, Vector: []float32{1, 2}, Words: []string{"a"}, Jagged: [][]int32{{1}, {2, 3}},
			Clicks: dataset.Sparse[float32]{Indices: [][]int64{{1}}, Values: []float32{5}, Shape: []int64{3}}},
		{ID: 2, Vector: []float32{3, 4}, Words: []string{"b", "c"}, Jagged: [][]int32{{}},
			Clicks: dataset.Sparse[float32]{Indices: [][]int64{}, Values: []float32{}, Shape: []int64{3}}},
		{ID: 3, Vector: []float32{5, 6}, Words: []string{}, Jagged: [][]int32{{4, 5, 6}},
			Clicks: dataset.Sparse[float32]{Indices: [][]int64{{0}, {2}}, Values: []float32{6, 7}, Shape: []int64{3}}},
	}
	all[1].Meta.OK, all[1].Meta.Name = true, "second"
	return all
}

// collect returns the elements of a dataset as Go values.
func collect[T any](t testing.TB, d *dataset.Dataset) []T {
	t.Helper()
	all, err := dataset.ToSlice[T](t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRowsRoundTrip(t *testing.T) {
	s := newScope(t)
	d := dataset.FromRows(s, everyKind())
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	const want = "{clicks: sparse float32[3], id: int64[], jagged: ragged int32[?, ?], meta: {name: string[], ok: bool[]}, vector: float32[2], words: string[?]}"
	if got := d.Spec().String(); got != want {
		t.Errorf("Spec\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff(everyKind(), collect[everything](t, d.Shuffle(1, nil).Repeat(1).Prefetch(1))); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
}

// Batches of sparse and ragged parts have one rank more, and slices of them are the
// original elements.
func TestBatchOfEveryKind(t *testing.T) {
	s := newScope(t)
	d := dataset.FromRows(s, everyKind())
	// Words of different lengths cannot be stacked.
	narrow := dataset.MapOf(d, "narrow", func(s *graph.Scope, e struct {
		ID     out                `tf:"id"`
		Jagged graph.RaggedTensor `tf:"jagged"`
		Clicks graph.SparseTensor `tf:"clicks"`
	}) any {
		return map[string]any{"id": e.ID, "jagged": e.Jagged, "clicks": e.Clicks}
	}, nil)
	batches := narrow.Batch(2, false)
	const want = "{clicks: sparse float32[?, ?], id: int64[?], jagged: ragged int32[?, ?, ?]}"
	if got := batches.Spec().String(); got != want {
		t.Errorf("Spec\n got %s\nwant %s", got, want)
	}
	type batch struct {
		ID     []int64                 `tf:"id"`
		Jagged [][][]int32             `tf:"jagged"`
		Clicks dataset.Sparse[float32] `tf:"clicks"`
	}
	wantBatches := []batch{
		{ID: []int64{1, 2}, Jagged: [][][]int32{{{1}, {2, 3}}, {{}}},
			Clicks: dataset.Sparse[float32]{Indices: [][]int64{{0, 1}}, Values: []float32{5}, Shape: []int64{2, 3}}},
		{ID: []int64{3}, Jagged: [][][]int32{{{4, 5, 6}}},
			Clicks: dataset.Sparse[float32]{Indices: [][]int64{{0, 0}, {0, 2}}, Values: []float32{6, 7}, Shape: []int64{1, 3}}},
	}
	if diff := cmp.Diff(wantBatches, collect[batch](t, batches)); diff != "" {
		t.Errorf("batches (-want +got)\n%s", diff)
	}
	type row struct {
		ID     int64                   `tf:"id"`
		Jagged [][]int32               `tf:"jagged"`
		Clicks dataset.Sparse[float32] `tf:"clicks"`
	}
	var want2 []row
	for _, e := range everyKind() {
		want2 = append(want2, row{e.ID, e.Jagged, e.Clicks})
	}
	if diff := cmp.Diff(want2, collect[row](t, batches.Unbatch())); diff != "" {
		t.Errorf("slices of batches (-want +got)\n%s", diff)
	}
	again := batches.Rebatch(3, false)
	all := collect[batch](t, again)
	if len(all) != 1 || !cmp.Equal(all[0].ID, []int64{1, 2, 3}) || all[0].Clicks.Shape[0] != 3 || len(all[0].Jagged) != 3 {
		t.Errorf("batch of batches: %v", all)
	}
}
