package loaders_test

import (
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/permutation"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// largeData returns a dataset like that of orderData, of 1,070 records. Together they
// are too large for a native operation to keep in memory.
func largeData(t *testing.T, args fixture.Object) (f *fixture.Dataset, records int64) {
	t.Helper()
	const more, bytes = 1_050, 64 << 10
	f = orderData(t, args)
	var large [][]byte
	for id := range int64(more) {
		unread := example.Feature{Kind: example.Bytes, Bytes: [][]byte{make([]byte, bytes+int(id))}}
		large = append(large, append(fixture.Record(20+id), example.Marshal([]example.Named{{Name: "unread", Feature: unread}})...))
	}
	f.WriteRecords(t, "4.tfrecords", large...)
	return f, 20 + more
}

// The records of large files come in the order of the permutation, also in a run that
// is resumed from a state in the middle.
func TestExactShuffleOfLargeFiles(t *testing.T) {
	testruntime.Need(t)
	f, n := largeData(t, exact(2, nil))
	var want []int64
	for epoch := range int64(2) {
		order := permutation.New(n, permutation.Key{Seed: 11, Epoch: epoch})
		for i := range n {
			want = append(want, order.At(i))
		}
	}
	l := openSequence(t, f)
	got, states := ids(t, l, &loaders.RunOptions{SaveEvery: 1})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	for _, batches := range []int{1, 99, 300} {
		got, _ := ids(t, l, &loaders.RunOptions{State: states[batches-1]})
		if diff := cmp.Diff(want[4*batches:], got); diff != "" {
			t.Errorf("behind %d batches (-want +got)\n%s", batches, diff)
		}
	}
}

// Block shuffling of large files gives the same order natively as without the native library.
func TestBlockShuffleOfLargeFiles(t *testing.T) {
	testruntime.Need(t)
	f, n := largeData(t, fixture.Object{"shuffle": true, "shuffle_mode": "block", "num_shuffle_buffer_elements": 300, "epochs": 1})
	want, _ := ids(t, openGeneral(t, f), nil)
	got, _ := ids(t, openSequence(t, f), nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if slices.Sort(got); !slices.Equal(got, upTo(0, n)) {
		t.Errorf("an epoch has the records %v", got)
	}
}
