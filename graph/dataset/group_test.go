package dataset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
)

// byRemainder groups numbers by their remainder modulo 3. A window of remainder 0 has
// two elements, and each further remainder one more. The sizes are captured from the
// graph around.
func byRemainder(s *graph.Scope) *dataset.Dataset {
	three, two := s.Const(int64(3)), s.Const(int64(2))
	return dataset.Range(s, 0, 11, 1).GroupByWindow("thirds", &dataset.Grouping{
		Key:  func(s *graph.Scope, args outs) out { return graph.FloorMod(s, args[0], three) },
		Size: func(s *graph.Scope, key out) out { return graph.Add(s, key, two) },
		Reduce: func(s *graph.Scope, key out, window *dataset.Dataset) *dataset.Dataset {
			return window.BatchOutput(graph.Add(s, key, two), false)
		},
	})
}

func lists(v ...[]int64) (elements []any) {
	for _, list := range v {
		elements = append(elements, list)
	}
	return elements
}

func TestGroupByWindow(t *testing.T) {
	got := all(t, byRemainder(newScope(t)))
	want := lists([]int64{0, 3}, []int64{1, 4, 7}, []int64{6, 9}, []int64{10}, []int64{2, 5, 8})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got)\n%s", diff)
	}
}

func TestGroupByWindowGoesOn(t *testing.T) {
	whole := start(t, byRemainder).next(10)
	first, second := start(t, byRemainder), start(t, byRemainder)
	for n := range whole {
		state, err := first.it.SaveState(t.Context(), first.sess)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.it.RestoreState(t.Context(), second.sess, state); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole[n:], second.next(10)); diff != "" {
			t.Errorf("rest after %d windows (-want +got)\n%s", n, diff)
		}
		first.next(1)
	}
}

func TestGroupByWindowWantsNumbers(t *testing.T) {
	s := newScope(t)
	dataset.Range(s, 0, 3, 1).GroupByWindow("text", &dataset.Grouping{
		Key:    func(s *graph.Scope, args outs) out { return graph.AsString(s, args[0]) },
		Size:   func(s *graph.Scope, key out) out { return key },
		Reduce: func(_ *graph.Scope, _ out, window *dataset.Dataset) *dataset.Dataset { return window },
	})
	if s.Err() == nil {
		t.Error("a key that is text")
	}
}

func TestPaddedBatchOfGivenSize(t *testing.T) {
	s := newScope(t)
	size := s.Const(int64(2))
	got := all(t, dataset.Range(s, 0, 5, 1).PaddedBatch(4, &dataset.PaddedBatchOptions{Size: size, Drop: true}))
	if diff := cmp.Diff(lists([]int64{0, 1}, []int64{2, 3}), got); diff != "" {
		t.Errorf("batches (-want +got)\n%s", diff)
	}
}
