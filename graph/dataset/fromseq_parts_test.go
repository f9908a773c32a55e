package dataset_test

import (
	"iter"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
)

// Parts that are no tensors are refused with what to do instead.
func TestFromSeqPartsAreTensors(t *testing.T) {
	refused(t, func(s *graph.Scope) {
		dataset.FromSeq(s, iter.Seq2[struct{ A struct{ B int64 } }, error](nil), nil)
	})
	refused(t, func(s *graph.Scope) {
		dataset.FromSeq(s, iter.Seq2[struct{ A dataset.Sparse[int64] }, error](nil), nil)
	})
	refused(t, func(s *graph.Scope) {
		dataset.FromSeq(s, iter.Seq2[struct{ A dataset.Ragged[int64] }, error](nil), nil)
	})
	refused(t, func(s *graph.Scope) {
		dataset.FromSeq(s, iter.Seq2[struct{ A map[string]int64 }, error](nil), nil)
	})
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
