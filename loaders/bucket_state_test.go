package loaders_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// drawnBuckets returns a dataset of a few files with lists of random lengths, in
// buckets, and in an order of some kind.
func drawnBuckets(t *testing.T, r *rand.Rand, order string) *fixture.Dataset {
	t.Helper()
	var lengths [][]int
	for range 1 + r.IntN(3) {
		var file []int
		for range 3 + r.IntN(12) {
			file = append(file, r.IntN(8))
		}
		lengths = append(lengths, file)
	}
	f := newSequence(t, "independent", newSequenceData(lengths))
	maps.Copy(f.Args, fixture.Object{
		"padding": true, "target_batch_size": 1 + r.IntN(5), "epochs": 3, "seed": r.IntN(1000), "drop_remainder": r.IntN(2) == 0,
		"bucket_by_length": fixture.Object{"tensor": "pos", "boundaries": []int{1 + r.IntN(2), 4}},
	})
	if r.IntN(3) == 0 {
		f.Args["batch_by_elements"] = 12
	}
	switch order {
	case "buffers":
		shuffled(f)
		maps.Copy(f.Args, fixture.Object{"num_shuffle_buffer_elements": 1 + r.IntN(12), "num_mix_files": 1 + r.IntN(4)})
	case "exact":
		maps.Copy(f.Args, fixture.Object{"shuffle": true, "shuffle_mode": "exact"})
	case "shard":
		f.Args["shard"] = fixture.Object{"count": 2, "index": r.IntN(2)}
	}
	return f
}

// A state of buckets has the positions of the records in them, and not the records.
// From there on, the batches and the later states are those of an uninterrupted run,
// with either engine and any number of threads.
func TestBucketsAreResumed(t *testing.T) {
	testruntime.Need(t)
	for _, order := range []string{"files", "buffers", "exact", "shard"} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(order, " ", seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 17))
				f := drawnBuckets(t, r, order)
				whole := map[bool]*loaders.Loader{true: openSequence(t, f), false: openGeneral(t, f)}
				want, states := textsOf(t, whole[true], &loaders.RunOptions{SaveEvery: 1})
				general, alike := textsOf(t, whole[false], &loaders.RunOptions{SaveEvery: 1})
				if diff := cmp.Diff(want, general); diff != "" {
					t.Fatalf("(-native +general)\n%s", diff)
				}
				if diff := cmp.Diff(states, alike); diff != "" {
					t.Errorf("states (-native +general)\n%s", diff)
				}
				maps.Copy(f.Args, fixture.Object{"num_parallel_parses": 3, "num_prefetch": 5})
				rest := map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)}
				for range 4 {
					at := r.IntN(len(states))
					if n := len(states[at]); n > mostStateBytes {
						t.Errorf("a state of %d bytes, want at most %d", n, mostStateBytes)
					}
					for engine, l := range rest {
						got, after := textsOf(t, l, &loaders.RunOptions{State: states[at], SaveEvery: 1})
						if diff := cmp.Diff(want[at+1:], got, cmpopts.EquateEmpty()); diff != "" {
							t.Fatalf("%s, from batch %d (-whole +rest)\n%s", engine, at, diff)
						}
						if diff := cmp.Diff(states[at+1:], after, cmpopts.EquateEmpty()); diff != "" {
							t.Errorf("%s, states from batch %d (-whole +rest)\n%s", engine, at, diff)
						}
					}
				}
			})
		}
	}
}
