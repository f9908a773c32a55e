package native_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/datasettest"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// longLists are SequenceExamples with a list of each length, whose elements are the
// number of the record.
func longLists(s *graph.Scope, lengths ...int) *dataset.Dataset {
	var records []string
	for i, n := range lengths {
		list := example.NamedList{Name: "i"}
		for range n {
			list.Features = append(list.Features, example.Feature{Kind: example.Int64, Ints: []int64{int64(i)}})
		}
		records = append(records, string(example.MarshalSequence(nil, []example.NamedList{list})))
	}
	return dataset.FromSlices(s, s.Const(records))
}

// padded requests that list, padded to a size.
func padded(s *graph.Scope, size int64) *native.Sequence {
	return &native.Sequence{
		Features:   []native.Feature{{Key: "i", Kind: native.Int, List: true}},
		Components: []native.Component{{Part: native.Padded, Size: size, Fill: s.Const(int64(-1))}},
	}
}

// A bucket yields a batch as soon as it is full, with the positions of its records. At
// the end the remaining records follow bucket by bucket.
func TestBucketSequences(t *testing.T) {
	needLibrary(t)
	full := []any{
		[]any{[][]int64{{1, 1}, {2, -1}}, []int64{7, 20}},
		[]any{[][]int64{{0, 0, 0, -1}, {3, 3, 3, 3}}, []int64{3, 21}},
	}
	rest := []any{
		[]any{[][]int64{{}}, []int64{23}},
		[]any{[][]int64{{4, 4, 4}}, []int64{22}},
	}
	for _, drop := range []bool{false, true} {
		want := full
		if !drop {
			want = append(want, rest...)
		}
		s := newScope(t)
		o := &native.BucketOptions{
			Boundaries: []int64{2, 9}, Sizes: []int64{2, 2, 1}, Drop: drop,
			Positions: true, Held: s.Const([]int64{3, 7}), Next: s.Const(int64(20)),
		}
		d := native.BucketSequences(longLists(s, 3, 2, 1, 4, 3, 0), padded(s, -1), o)
		if diff := cmp.Diff(want, all(t, d)); diff != "" {
			t.Errorf("drop %v (-want +got)\n%s", drop, diff)
		}
	}
}

// A record that cannot be decoded ends the dataset at once. A record that is longer
// than its padding ends it when its batch is due, and not at all if that batch is
// dropped.
func TestBucketSequencesFail(t *testing.T) {
	needLibrary(t)
	bad := func(s *graph.Scope) *dataset.Dataset {
		return longLists(s, 1, 1).Concatenate(dataset.FromTensors(s, s.Const("\x0b")))
	}
	long := func(s *graph.Scope) *dataset.Dataset { return longLists(s, 4, 1, 1, 1) }
	for _, tt := range []struct {
		name    string
		records func(s *graph.Scope) *dataset.Dataset
		size    int64
		drop    bool
		batches int
		words   string
	}{
		{"bad", bad, -1, false, 1, "not a SequenceExample"},
		{"too long", long, 3, false, 2, "feature \"i\": 4 elements, padded to 3"},
		{"too long, dropped", long, 3, true, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			o := &native.BucketOptions{Boundaries: []int64{2}, Sizes: []int64{2, 2}, Drop: tt.drop}
			it := native.BucketSequences(tt.records(s), padded(s, tt.size), o).Iterator("it")
			sess := datasettest.Start(t, s, it)
			batches := 0
			for range 5 {
				element, err := sess.Run(nil, it.Element, nil)
				for _, x := range element {
					x.Close()
				}
				switch {
				case err == nil:
					batches++
				case tt.words == "" && !errors.Is(err, tfbridge.OutOfRange), !strings.Contains(fmt.Sprint(err), tt.words):
					t.Errorf("got %v, want %q", err, tt.words)
				}
			}
			if batches != tt.batches {
				t.Errorf("%d batches, want %d", batches, tt.batches)
			}
		})
	}
}

// Impossible buckets are an error when the graph is built.
func TestBucketSequencesAreChecked(t *testing.T) {
	needLibrary(t)
	for name, change := range map[string]func(q *native.Sequence, o *native.BucketOptions){
		"no list":         func(q *native.Sequence, _ *native.BucketOptions) { q.Features[0].List = false },
		"no such feature": func(_ *native.Sequence, o *native.BucketOptions) { o.Of = 1 },
		"no boundaries":   func(_ *native.Sequence, o *native.BucketOptions) { o.Boundaries, o.Sizes = nil, []int64{1} },
		"descending": func(_ *native.Sequence, o *native.BucketOptions) {
			o.Boundaries, o.Sizes = []int64{2, 1}, []int64{1, 1, 1}
		},
		"a size is missing": func(_ *native.Sequence, o *native.BucketOptions) { o.Sizes = []int64{1} },
		"a size of 0":       func(_ *native.Sequence, o *native.BucketOptions) { o.Sizes = []int64{1, 0} },
	} {
		s := newScope(t)
		q, o := padded(s, -1), &native.BucketOptions{Boundaries: []int64{2}, Sizes: []int64{1, 1}}
		change(q, o)
		native.BucketSequences(longLists(s, 1), q, o)
		if err := s.Err(); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("%s: got %v, want an error of class %v", name, err, millrace.ErrModel)
		}
	}
}
