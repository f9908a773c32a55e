package loaders_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/permutation"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// wavesData returns a continuous_sequence over two files of 7 and 4 records of 3
// positions, whose numbers are counted through both files.
func wavesData(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Type = "continuous_sequence"
	f.Manifest["features"] = []fixture.Object{{"name": "pos", "dtype": "int64", "shape": []int{3}, "deserialize_type": "int"}}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "pos", "to_name": "pos"}}
	n := int64(1)
	for i, records := range []int{7, 4} {
		var all [][]byte
		for range records {
			all = append(all, example.Marshal([]example.Named{{Name: "pos", Feature: fixture.Ints(n, n+1, n+2)}}))
			n += 3
		}
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), all...)
	}
	maps.Copy(f.Args, fixture.Object{"seed": 2, "min_window": 4, "max_window": 4, "target_batch_size": 2})
	maps.Copy(f.Args, args)
	return f
}

// windowsOf returns the windows of a run, each a row of "pos", and its states.
func windowsOf(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (all [][]int64, states [][]byte) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.Clone(b.Tensor("pos").Value().([][]int64))...)
		states = append(states, b.State())
	}
	return all, states
}

// Windows that are read by their positions are a permutation of those that are cut in
// order: with any stride, at the end of a file too.
func TestExactShuffleOfWindows(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"apart": nil, "gaps": {"stride": 6}, "padded, overlapping": {"tail": "pad", "stride": 3},
	} {
		f := wavesData(t, args)
		inOrder, _ := windowsOf(t, openSequence(t, f), nil)
		maps.Copy(f.Args, exact(2, nil))
		n := int64(len(inOrder))
		var want [][]int64
		for epoch := range int64(2) {
			order := permutation.New(n, permutation.Key{Seed: 2, Epoch: epoch})
			for i := range n {
				want = append(want, inOrder[order.At(i)])
			}
		}
		native, states := windowsOf(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: 1})
		general := openGeneral(t, f)
		got, _ := windowsOf(t, general, nil)
		if diff := cmp.Diff(want, native); diff != "" || n == 0 {
			t.Errorf("%s, native: %d windows (-want +got)\n%s", name, n, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, general (-want +got)\n%s", name, diff)
		}
		at := len(states) / 2
		if rest, _ := windowsOf(t, general, &loaders.RunOptions{State: states[at]}); !slices.EqualFunc(rest, want[2*(at+1):], slices.Equal) || len(states[at]) > 4096 {
			t.Errorf("%s, from batch %d, a state of %d bytes: got %v, want %v", name, at+1, len(states[at]), rest, want[2*(at+1):])
		}
	}
}

// The shards of an epoch's windows together are the whole epoch, and a range has
// windows of its records only. These do not cross files.
func TestShardsAndRangesOfWindows(t *testing.T) {
	testruntime.Need(t)
	f := wavesData(t, exact(1, nil))
	whole, _ := windowsOf(t, openSequence(t, f), nil)
	var parts [][]int64
	for i := range 3 {
		f.Args["shard"] = fixture.Object{"count": 3, "index": i}
		part, _ := windowsOf(t, openSequence(t, f), nil)
		parts = append(parts, part...)
	}
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Errorf("shards (-want +got)\n%s", diff)
	}
	f = wavesData(t, fixture.Object{"range": fixture.Object{"start": 1, "end": 10}})
	got, _ := windowsOf(t, openSequence(t, f), nil)
	want := [][]int64{{4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}, {16, 17, 18, 19}, {22, 23, 24, 25}, {26, 27, 28, 29}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("range (-want +got)\n%s", diff)
	}
}

// Windows of whole records with lists of any length are read by their positions, too.
func TestExactShuffleOfDiscreteWindows(t *testing.T) {
	testruntime.Need(t)
	f := newSequence(t, "discrete_sequence", newSequenceData([][]int{{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3, 5}}))
	maps.Copy(f.Args, fixture.Object{"seed": 4, "min_window": 2, "max_window": 2})
	inOrder := readWindows(t, openSequence(t, f), 0)
	maps.Copy(f.Args, exact(1, nil))
	order := permutation.New(int64(len(inOrder)), permutation.Key{Seed: 4})
	var want [][]int64
	for i := range inOrder {
		want = append(want, inOrder[order.At(int64(i))])
	}
	for name, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		if diff := cmp.Diff(want, readWindows(t, l, 0)); diff != "" || len(want) != 5 {
			t.Errorf("%s: %d windows (-want +got)\n%s", name, len(want), diff)
		}
	}
}
