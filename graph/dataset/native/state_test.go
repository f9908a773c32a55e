package native_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/datasettest"
	"millrace/tfbridge"
)

// TestFailsAgain reads again after a failure.
func TestFailsAgain(t *testing.T) {
	needLibrary(t)
	path := writeFile(t, corrupt.Flip(corrupt.File(), 300*8))
	s := newScope(t)
	source := dataset.TFRecords(s, s.Const(writeFile(t, corrupt.Frame(corrupt.Example(1), nil, corrupt.Example(2)))), nil)
	examples := native.Examples(s, s.Const([]string{path}), s.Const([]int64{10}), corruptFeatures(), &native.ExamplesOptions{Epochs: 1})
	for name, d := range map[string]*dataset.Dataset{"files": examples, "parsed": native.Parse(source, 1, corruptFeatures(), nil)} {
		it := d.Iterator(name)
		sess := datasettest.Start(t, s, it)
		failures := map[string]bool{}
		for range 12 {
			element, err := sess.Run(nil, it.Element, nil)
			for _, x := range element {
				x.Close()
			}
			if err != nil {
				failures[err.Error()] = true
			} else if len(failures) > 0 {
				t.Errorf("%s: an element after a failure", name)
			}
		}
		if len(failures) != 1 {
			t.Errorf("%s: failures %v, want one", name, failures)
		}
	}
}

// TestState saves before every element and continues from there in a new session.
func TestState(t *testing.T) {
	needLibrary(t)
	names, lists := wideFiles(t, 5, 0, 6), listFiles(t, 5, 0, 6)
	build := func(kind string) (*graph.Scope, *dataset.Iterator) {
		s := newScope(t)
		if kind == "parsed" {
			d := dataset.TFRecords(s, s.Const(names), nil).Shuffle(5, &dataset.ShuffleOptions{Seed: 1, Seed2: 2}).Repeat(2)
			return s, native.Parse(d, 4, wideFeatures(), nil).Iterator("it")
		}
		o := &native.ExamplesOptions{BatchSize: 4, Epochs: 2}
		if kind == "gzip" {
			o.Compression, o.Threads = "GZIP", 3
			return s, native.Examples(s, s.Const(gzipped(t, names)), s.Const([]int64{5, 0, 6}), wideFeatures(), o).Iterator("it")
		}
		if kind == "lists" {
			return s, native.Sequences(s, s.Const(lists), s.Const([]int64{5, 0, 6}), paddedLists(s), o).Iterator("it")
		}
		if kind == "buckets" {
			d := dataset.TFRecords(s, s.Const(lists), nil).Repeat(2)
			return s, native.BucketSequences(d, paddedLists(s), &native.BucketOptions{Of: 4, Boundaries: []int64{1, 2}, Sizes: []int64{4, 4, 5}}).Iterator("it")
		}
		d := native.Examples(s, s.Const(names), s.Const([]int64{5, 0, 6}), wideFeatures(), o)
		if kind == "prefetched" {
			d = d.Prefetch(2)
		}
		return s, d.Iterator("it")
	}
	for _, kind := range []string{"files", "gzip", "prefetched", "parsed", "lists", "buckets"} {
		t.Run(kind, func(t *testing.T) {
			var states [][]byte
			want := drain(t, build, kind, nil, &states)
			if len(want) != 6 || len(states) != 7 {
				t.Fatalf("%d elements, %d states", len(want), len(states))
			}
			for i, state := range states {
				if diff := cmp.Diff(want[i:], drain(t, build, kind, state, nil)); diff != "" {
					t.Errorf("restored before element %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}

// drain returns the elements of an iterator from a state on, and the states
// before each.
func drain(t *testing.T, build func(string) (*graph.Scope, *dataset.Iterator), kind string, state []byte, states *[][]byte) []string {
	t.Helper()
	s, it := build(kind)
	sess := datasettest.Start(t, s, it)
	defer sess.Close()
	if state != nil {
		if err := it.RestoreState(t.Context(), sess, state); err != nil {
			t.Fatal(err)
		}
	}
	elements := []string{}
	for {
		if states != nil {
			saved, err := it.SaveState(t.Context(), sess)
			if err != nil {
				t.Fatal(err)
			}
			*states = append(*states, saved)
		}
		element, err := sess.Run(nil, it.Element, nil)
		if errors.Is(err, tfbridge.OutOfRange) {
			return elements
		}
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, x := range element {
			text += fmt.Sprintf("%q ", fmt.Sprint(x.Value()))
			x.Close()
		}
		elements = append(elements, text)
	}
}
