package dataset_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Parts that are no tensors are refused with what to do instead.
func TestFromSeqPartsAreTensors(t *testing.T) {
	refused(t, func(s *graph.Scope) {
		dataset.FromSeq(s, iter.Seq2[struct{ A dataset.Sparse[int64] }, error](nil), nil)
	})
	refused(t, func(s *graph.Scope) {
		dataset.FromSeq(s, iter.Seq2[struct{ A dataset.Ragged[int64] }, error](nil), nil)
	})
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

func refused(t *testing.T, build func(s *graph.Scope)) {
	t.Helper()
	s := newScope(t)
	build(s)
	isClass(t, s.Err(), millrace.ErrModel)
	if !strings.Contains(s.Err().Error(), "MapOf") {
		t.Errorf("got %v", s.Err())
	}
}
