package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// Every part of a dataset becomes as long as the others, and the padding is marked.
func TestPadToCardinality(t *testing.T) {
	for n, want := range map[int64][]any{
		3: {[]any{int64(0), "a", true}, []any{int64(1), "b", true}, []any{int64(0), "", false}},
		2: {[]any{int64(0), "a", true}, []any{int64(1), "b", true}},
	} {
		r := start(t, func(s *graph.Scope) *dataset.Dataset {
			return dataset.Zip(s, dataset.Range(s, 0, 2, 1), dataset.FromSlices(s, s.Const([]string{"a", "b"}))).PadToCardinality(n)
		})
		if diff := cmp.Diff(want, r.next(5)); diff != "" {
			t.Errorf("to %d (-want +got)\n%s", n, diff)
		}
	}
	s := graphtest.NewScope(t)
	d := dataset.Range(s, 0, 3, 1).PadToCardinality(2)
	var got int
	var last error
	for _, err := range d.All(t.Context(), nil) {
		if last = err; err == nil {
			got++
		}
	}
	if got != 2 || !errors.Is(last, tfbridge.InvalidArgument) || !strings.Contains(last.Error(), "more elements than it is to be padded to") {
		t.Errorf("of three to two: %d elements, then %v", got, last)
	}
	open := dataset.FromSlices(s, s.Placeholder(tfbridge.Float, tfbridge.MakeShape(4, -1))).PadToCardinality(9)
	if err := open.Scope().Err(); err == nil || !strings.Contains(err.Error(), "its shape must be known") {
		t.Errorf("an open shape: %v", err)
	}
}
