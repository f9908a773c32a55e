package loaders_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// drawnWindows is [wavesData] with two steps that draw numbers, which a filter of the
// windows may follow.
func drawnWindows(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	gain := func(name string) fixture.Object {
		return fixture.Object{"tensor": "one", "to_name": name, "type": "random_gain", "args": fixture.Object{"lower": 0.25, "upper": 1.5}}
	}
	steps := []fixture.Object{
		{"type": "constant", "to_name": "one", "args": fixture.Object{"dtype": "float32", "value": 1}}, gain("first"), gain("second"),
		{"type": "slice", "tensor": "pos", "to_name": "id", "args": fixture.Object{"slice": "0"}},
	}
	f := wavesData(t, with(fixture.Object{"processing_steps": steps, "epochs": 2, "seed": 5}, args))
	if ids, ok := f.Args["kept"].([]int64); ok {
		delete(f.Args, "kept")
		f.Args["processing_steps"] = append(steps, fixture.Object{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{{"tensor": "id", "op": "in", "value": ids}}}})
	}
	return f
}

// openings are ways to open a dataset.
var openings = map[string]func(*testing.T, *fixture.Dataset) *loaders.Loader{
	"native": func(t *testing.T, f *fixture.Dataset) *loaders.Loader { return openSequence(t, f) }, "general": openGeneral,
}

// Random steps of windows draw from seed, epoch, step and number of the window: the same with both
// engines, in all orders, in the union of shards, before a filter, and from every state.
func TestRandomStepsOfWindows(t *testing.T) {
	testruntime.Need(t)
	// The windows of 4 in files of 21 and 12 positions, counted from 1.
	firsts := []int64{1, 5, 9, 13, 17, 22, 26, 30}
	want := map[string]int{}
	for row, n := range expectedDraws(t, 5, 2, len(firsts)) {
		var number int
		var first, second float32
		fmt.Sscan(row, &number, &first, &second)
		want[fmt.Sprint(firsts[number], first, second)] = n
	}
	kept := []int64{5, 17, 22}
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2}
	for _, tt := range []struct {
		name string
		args []fixture.Object // the loaders, whose rows together are all
	}{
		{"in order", []fixture.Object{{"num_parallel_parses": 8, "target_batch_size": 5}}},
		{"shuffled", []fixture.Object{buffers}},
		{"exact", []fixture.Object{exact(2, nil)}},
		{"shards", []fixture.Object{exact(2, fixture.Object{"shard": fixture.Object{"count": 2, "index": 0}}), exact(2, fixture.Object{"shard": fixture.Object{"count": 2, "index": 1}})}},
		{"filtered", []fixture.Object{with(buffers, fixture.Object{"kept": kept})}},
		{"filtered, in order", []fixture.Object{{"kept": kept}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := maps.Clone(want)
			if _, filters := tt.args[0]["kept"]; filters {
				maps.DeleteFunc(want, func(row string, _ int) bool {
					var id int64
					fmt.Sscan(row, &id)
					return !slices.Contains(kept, id)
				})
			}
			for engine, open := range openings {
				rows := map[string]int{}
				for _, args := range tt.args {
					f := drawnWindows(t, args)
					l := open(t, f)
					for row, n := range drawnOf(t, l) {
						rows[row] += n
					}
					checkResumed(t, engine, l)
				}
				if diff := cmp.Diff(want, rows); diff != "" {
					t.Errorf("%s (-want +got)\n%s", engine, diff)
				}
			}
		})
	}
}

// checkResumed checks that a loader continues with the same batches from every second state.
func checkResumed(t *testing.T, name string, l *loaders.Loader) {
	t.Helper()
	want, states := textsOf(t, l, &loaders.RunOptions{SaveEvery: 1})
	for at := 0; at+1 < len(states); at += 2 {
		got, _ := textsOf(t, l, &loaders.RunOptions{State: states[at]})
		if diff := cmp.Diff(want[at+1:], got); diff != "" {
			t.Fatalf("%s, from batch %d (-whole +rest)\n%s", name, at, diff)
		}
	}
}

// Where windows have drawn sizes, or go into buckets, random steps give the same with both engines,
// any number of threads and from every state, and no two windows draw the same.
func TestRandomStepsOfAnyWindows(t *testing.T) {
	testruntime.Need(t)
	sized := fixture.Object{"min_window": 2, "max_window": 6, "tail": "keep", "padding": true}
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2}
	bucket := fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "boundaries": []int{4}}}
	for name, args := range map[string]fixture.Object{"drawn sizes": sized, "drawn sizes, shuffled": with(sized, buffers), "buckets": with(sized, bucket)} {
		var want []string
		for engine, open := range openings {
			for _, threads := range []int{1, 8} {
				l := open(t, drawnWindows(t, with(args, fixture.Object{"num_parallel_parses": threads})))
				got, _ := textsOf(t, l, nil)
				if want == nil {
					want = got
					checkResumed(t, name, l)
					seen := map[float32]bool{}
					for b, err := range l.Batches(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
						drawn, err := tfbridge.View[float32](b.Tensor("first"))
						if err != nil {
							t.Fatal(err)
						}
						for _, x := range drawn {
							if seen[x] {
								t.Errorf("%s: two windows draw %v", name, x)
							}
							seen[x] = true
						}
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s, %d threads (-first +this)\n%s", name, engine, threads, diff)
				}
			}
		}
	}
}
