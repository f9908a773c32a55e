package loaders_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
)

// chunkedOf makes a chunked_sequence loader of a dataset whose rows are whole records.
func chunkedOf(f *fixture.Dataset, args fixture.Object) *fixture.Dataset {
	f.Type = "chunked_sequence"
	for _, key := range []string{"target_batch_size", "drop_remainder", "shuffle", "shuffle_mode"} {
		delete(f.Args, key)
	}
	maps.Copy(f.Args, fixture.Object{"batch_size": 8, "seed": 3, "epochs": 2})
	maps.Copy(f.Args, args)
	return f
}

// bothEngines returns the ids of a run. They must be the same with either engine, in an
// uninterrupted run and in one that is resumed from a state.
func bothEngines(t *testing.T, f *fixture.Dataset) []int64 {
	t.Helper()
	l := openSequence(t, f)
	native, states := ids(t, l, &loaders.RunOptions{SaveEvery: 1})
	general, _ := ids(t, openGeneral(t, f), nil)
	if diff := cmp.Diff(native, general); diff != "" {
		t.Fatalf("(-native +general)\n%s", diff)
	}
	at := (len(states) - 1) / 2
	rest, _ := ids(t, l, &loaders.RunOptions{State: states[at]})
	if !slices.Equal(rest, native[len(native)-len(rest):]) || len(rest) == 0 {
		t.Errorf("from batch %d: %v, want the end of %v", at, rest, native)
	}
	return native
}

// The shards of an epoch are its sequences, each once and in the epoch's order, for
// every kind of order. An epoch's part is taken before it is divided into shards.
func TestChunkShards(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"in order": nil, "drawn": {"seq_ordering": "random"}, "in parts": {"seq_ordering": "random", "partition_epoch": 2},
	} {
		f := fixture.New(t)
		f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 7)...)
		f.WriteRecords(t, "b.tfrecords", fixture.Records(7, 26)...)
		chunkedOf(f, args)
		whole, _ := ids(t, openSequence(t, f), nil)
		var epochs [2][]int64
		for i := range 2 {
			f.Args["shard"] = fixture.Object{"count": 2, "index": i}
			shard := bothEngines(t, f)
			half := len(whole) / 2
			for e, epoch := range [][]int64{whole[:half], whole[half:]} {
				n := len(epoch) / 2
				if i < len(epoch)%2 {
					n++
				}
				epochs[e], shard = append(epochs[e], shard[:n]...), shard[n:]
			}
			if len(shard) > 0 {
				t.Errorf("%s: shard %d has %d sequences more", name, i, len(shard))
			}
		}
		delete(f.Args, "shard")
		if diff := cmp.Diff(whole, slices.Concat(epochs[:]...)); diff != "" {
			t.Errorf("%s: (-whole +shards)\n%s", name, diff)
		}
	}
}

// A range has the sequences of its records, in any order.
func TestChunkRange(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 7)...)
	f.WriteRecords(t, "b.tfrecords", fixture.Records(7, 23)...)
	chunkedOf(f, fixture.Object{"range": fixture.Object{"start": 5, "end": 12}, "epochs": 1})
	if got, want := bothEngines(t, f), []int64{5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got, want) {
		t.Errorf("in order: %v, want %v", got, want)
	}
	for _, order := range []string{"reverse", "random", "laplace:.3"} {
		f.Args["seq_ordering"] = order
		got := bothEngines(t, f)
		slices.Sort(got)
		if want := []int64{5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", order, got, want)
		}
	}
}

// Sequences are drawn from the datasets of a mixture as examples are by other types.
func TestChunkMixture(t *testing.T) {
	testruntime.Need(t)
	f, _ := mixtureData(t, fixture.Object{"shuffle": false, "shuffle_mode": "buffer"})
	want, _ := ids(t, openSequence(t, f), nil)
	if got := bothEngines(t, chunkedOf(f, nil)); !slices.Equal(got, want) {
		t.Errorf("%v, want those of an independent loader, %v", got, want)
	}
	f.Args["until"], f.Args["seq_ordering"] = "all", "random"
	got := bothEngines(t, f)
	first := got[:len(got)/2]
	for id := range int64(12) {
		if !slices.Contains(first, 100+id) {
			t.Errorf("sequence %d is not in the first epoch, %v", 100+id, first)
		}
	}
	second := got[len(got)/2:]
	if slices.Equal(first, second) {
		t.Error("two epochs are in the same order")
	}
	f.Args["partition_epoch"] = 2
	f.Save(t)
	_, problems := loaders.Check(f.Config(), nil)
	if problems == nil || !errors.Is(problems, millrace.ErrConfig) || !strings.Contains(problems.Error(), "mixture of several") {
		t.Errorf("parts of a mixture: %v", problems)
	}
}
