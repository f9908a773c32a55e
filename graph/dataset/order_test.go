package dataset_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func TestOrder(t *testing.T) {
	tests := []struct {
		name  string
		build func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset // made from 0 1 2
		want  []any
	}{
		{"Repeat", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Repeat(2) }, values(0, 1, 2, 0, 1, 2)},
		{"Repeat endlessly", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Repeat(-1).Take(4) }, values(0, 1, 2, 0)},
		{"Take", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Take(2) }, values(0, 1)},
		{"Skip", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Skip(2) }, values(2)},
		{"Shard", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Shard(2, 0) }, values(0, 2)},
		{"Concatenate", func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.Concatenate(dataset.Range(s, 7, 8, 1))
		}, values(0, 1, 2, 7)},
		{"Zip", func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return dataset.Zip(s, d, dataset.Range(s, 7, 9, 1))
		}, []any{[]any{int64(0), int64(7)}, []any{int64(1), int64(8)}}},
		{"Enumerate", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Skip(1).Enumerate(5) },
			[]any{[]any{int64(5), int64(1)}, []any{int64(6), int64(2)}}},
		{"Prefetch", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Prefetch(2) }, values(0, 1, 2)},
		{"Prefetch nothing", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Prefetch(0) }, values(0, 1, 2)},
		{"Prefetch autotuned", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Prefetch(dataset.Autotune) }, values(0, 1, 2)},
		{"Cache", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.Cache("").Repeat(2) }, values(0, 1, 2, 0, 1, 2)},
		{"AssertCardinality", func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.AssertCardinality(s.Const(int64(3)))
		}, values(0, 1, 2)},
		{"WithOptions", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.WithOptions(&dataset.Options{
				Sloppy: true, NoAutotune: true, NoOptimization: true, CPUBudget: 1, RAMBudget: 1 << 20,
				PrivateThreads: 1, IntraOpThreads: 1, PrefetchOpenings: true,
			})
		}, values(0, 1, 2)},
		{"Finalize", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset { return d.WithOptions(nil).Finalize() }, values(0, 1, 2)},
		{"IgnoreErrors", func(_ *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.Concatenate(d.Skip(1)).Map("f", func(s *graph.Scope, args outs) outs {
				graph.Assert(s, graph.NotEqual(s, args[0], s.Const(int64(1))), outs{args[0]}, nil)
				return args
			}, nil).IgnoreErrors()
		}, values(0, 2, 2)},
		{"Scan", func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.Scan("sum", outs{s.Const(int64(100))}, func(s *graph.Scope, state, args outs) (outs, outs) {
				sum := graph.Add(s, state[0], args[0])
				return outs{sum}, outs{sum, graph.AsString(s, args[0])}
			})
		}, []any{[]any{int64(100), "0"}, []any{int64(101), "1"}, []any{int64(103), "2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			if diff := cmp.Diff(tt.want, all(t, tt.build(s, dataset.Range(s, 0, 3, 1)))); diff != "" {
				t.Errorf("elements (-want +got)\n%s", diff)
			}
		})
	}
}

func TestConcatenateSpecs(t *testing.T) {
	s := newScope(t)
	a := dataset.FromTensors(s, s.Const([][]int32{{1, 2}}), s.Const([]string{"x"}))
	b := dataset.FromTensors(s, s.Const([][]int32{{1, 2, 3}}), s.Const("x"))
	checkSpecs(t, a.Concatenate(b), "int32[1, ?]", "string[...]")
	if c := a.Concatenate(dataset.Range(s, 0, 1, 1)); s.Err() == nil || c.Variant().Op != nil {
		t.Error("datasets of one and of two components were concatenated")
	}
}

func TestCardinality(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 3, 1)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	for want, o := range map[int64]out{3: d.Cardinality(), -1: d.Repeat(-1).Cardinality(), -2: d.IgnoreErrors().Filter("f", func(s *graph.Scope, args outs) out { return s.Const(true) }).Cardinality()} {
		got, err := sess.Run(nil, outs{o}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Value() != want {
			t.Errorf("cardinality\n got %v\nwant %d", got[0].Value(), want)
		}
		got[0].Close()
	}
}

func TestAssertCardinality(t *testing.T) {
	for _, n := range []int64{2, 4} {
		s := newScope(t)
		count := s.Const(n)
		// Shuffle in a function and an interleave, as programs use it for files.
		d := dataset.Range(s, 0, 2, 1).Interleave("f", func(s *graph.Scope, args outs) *dataset.Dataset {
			return dataset.Range(s, 0, 3, 1).AssertCardinality(count)
		}, &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2})
		if _, err := tryAll(t, d); !errors.Is(err, tfbridge.FailedPrecondition) {
			t.Errorf("error for a count of %d: %v", n, err)
		}
	}
}

// epochs returns 3 repetitions of 8 elements shuffled with a seed.
func epochs(t *testing.T, o *dataset.ShuffleOptions) [][]int64 {
	t.Helper()
	s := newScope(t)
	d := dataset.Range(s, 0, 8, 1).Shuffle(8, o).Repeat(3).Batch(8, true)
	var epochs [][]int64
	for _, epoch := range all(t, d) {
		epochs = append(epochs, epoch.([]int64))
	}
	return epochs
}

func TestShuffle(t *testing.T) {
	first := epochs(t, &dataset.ShuffleOptions{Seed: 1, Seed2: 2})
	if diff := cmp.Diff(first, epochs(t, &dataset.ShuffleOptions{Seed: 1, Seed2: 2})); diff != "" {
		t.Errorf("one seed, two orders\n%s", diff)
	}
	// The orders that Python gives for tf.random.set_seed(1) and seed=2.
	want := [][]int64{{4, 1, 2, 6, 5, 0, 3, 7}, {7, 5, 4, 0, 2, 6, 1, 3}, {0, 2, 3, 7, 1, 4, 5, 6}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("orders (-want +got)\n%s", diff)
	}
	if cmp.Equal(first, epochs(t, &dataset.ShuffleOptions{Seed: 1, Seed2: 3})) {
		t.Error("two seeds, one order")
	}
	for i, epoch := range first {
		if got := slices.Sorted(slices.Values(epoch)); !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("epoch %d holds %v", i, got)
		}
	}
	if slices.Equal(first[0], first[1]) || slices.Equal(first[1], first[2]) {
		t.Errorf("epochs in one order: %v", first)
	}
	fixed := epochs(t, &dataset.ShuffleOptions{Seed: 1, Seed2: 2, Fixed: true})
	if !slices.Equal(fixed[0], fixed[1]) || !slices.Equal(fixed[1], fixed[2]) {
		t.Errorf("epochs with a fixed order: %v", fixed)
	}
}

func TestTwoShufflesOfOneSeed(t *testing.T) {
	// Two operations share one seed: TensorFlow must not merge them into one that draws
	// a new order for each.
	s := newScope(t)
	shuffled := func() *dataset.Dataset {
		return dataset.Range(s, 0, 8, 1).Shuffle(8, &dataset.ShuffleOptions{Seed: 1, Seed2: 2})
	}
	for _, element := range all(t, dataset.Zip(s, shuffled(), shuffled())) {
		if pair := element.([]any); pair[0] != pair[1] {
			t.Errorf("elements %v differ", pair)
		}
	}
}

func TestUnseededShuffles(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 100, 1).Shuffle(100, nil).Batch(100, true)
	if cmp.Equal(all(t, d), all(t, d)) {
		t.Error("two sessions gave one order without a seed")
	}
}

func TestShuffleOutput(t *testing.T) {
	order := func(seed2 int64) []any {
		s := newScope(t)
		d := dataset.Range(s, 0, 8, 1).ShuffleOutput(8, s.Const(int64(1)), s.Const(seed2)).Repeat(2).Batch(8, true)
		return all(t, d)
	}
	first := order(2)
	if diff := cmp.Diff(first, order(2)); diff != "" {
		t.Errorf("the same seeds (-first +second)\n%s", diff)
	}
	if !cmp.Equal(first[0], first[1]) {
		t.Errorf("two repetitions are %v, want one order", first)
	}
	if cmp.Equal(first, order(3)) {
		t.Errorf("other seeds give the same order %v", first)
	}
}
