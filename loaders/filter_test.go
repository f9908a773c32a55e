package loaders_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// filter returns a step that keeps the examples whose tensor "id" is in a list.
func filter(ids ...int64) fixture.Object {
	return fixture.Object{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{
		{"tensor": "id", "op": "in", "value": ids}, {"tensor": "xs", "length": 0, "op": "le", "value": 2},
	}}}
}

// idsOf returns the tensor "id" of each batch, with where the records are and states.
func idsOf(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (batches [][]int64, places []int64, states [][]byte) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, slices.Clone(column[int64](t, b, "id")))
		states = append(states, b.State())
		for _, p := range b.Places() {
			places = append(places, p.Record+map[byte]int64{'a': 0, 'b': 5, 'c': 6}[p.File[len(p.File)-len("a.tfrecords")]])
		}
	}
	return batches, places, states
}

var kept = []int64{1, 2, 5, 7, 8, 12}

// A filter gives the rows of the loader without it which fulfil the conditions, in their order, in
// full batches; with both engines, and from each state.
func TestFilter(t *testing.T) {
	testruntime.Need(t)
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2}
	exact := fixture.Object{"shuffle": true, "shuffle_mode": "exact"}
	skipping := fixture.Object{"bad_records": fixture.Object{"skip": 2}}
	gain := fixture.Object{"tensor": "xs", "type": "random_gain", "args": fixture.Object{"lower": 0.25, "upper": 1.5}}
	for _, tt := range []struct {
		name  string
		args  fixture.Object
		first []fixture.Object // steps before the filter
	}{
		{"in order", fixture.Object{"num_parallel_parses": 3}, nil},
		{"shuffled", buffers, nil},
		{"shard", with(exact, fixture.Object{"shard": fixture.Object{"count": 2, "index": 1}}), nil},
		{"skipping, shuffled", with(buffers, skipping), nil},
		{"skipping, exact", with(exact, skipping), nil},
		{"one by one", exact, []fixture.Object{gain}},
		{"padded", fixture.Object{"padding": []fixture.Object{{"tensor": "xs", "shape": []int{4}}}}, nil},
		{"drop remainder", fixture.Object{"drop_remainder": true, "target_batch_size": 5}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fixture.New(t)
			f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
			f.WriteRecords(t, "b.tfrecords", fixture.Records(5, 6)...)
			f.WriteRecords(t, "c.tfrecords", fixture.Records(6, 13)...)
			f.Args["epochs"], f.Args["seed"], f.Args["target_batch_size"] = 2, 5, 3
			maps.Copy(f.Args, tt.args)
			size := f.Args["target_batch_size"].(int)
			f.Args["processing_steps"] = append([]fixture.Object{}, tt.first...)
			all, _, _ := idsOf(t, openSequence(t, f), nil)
			seen := slices.Concat(all...)
			if drop := f.Args["drop_remainder"]; drop == true {
				seen = append(seen, 12) // the rest that the whole run drops
			}
			var rows []int64
			for _, id := range seen {
				if slices.Contains(kept, id) {
					rows = append(rows, id)
				}
			}
			want := slices.Collect(slices.Chunk(rows, size))
			if n := len(want); f.Args["drop_remainder"] == true && len(want[n-1]) < size {
				want = want[:n-1]
			}
			// The scale after the filter works on what is left of a batch.
			f.Args["processing_steps"] = slices.Concat(tt.first, []fixture.Object{filter(kept...), {"type": "scale", "tensor": "xs", "args": fixture.Object{"factor": 2}}})
			native, general := openSequence(t, f), openGeneral(t, f)
			placed := !(strings.HasPrefix(tt.name, "skipping, shuffled"))
			texts, _ := textsOf(t, native, nil)
			for engine, l := range map[string]*loaders.Loader{"native": native, "general": general} {
				got, places, states := idsOf(t, l, &loaders.RunOptions{SaveEvery: 1, Places: placed})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s (-want +got)\n%s", engine, diff)
				}
				if diff := cmp.Diff(slices.Concat(want...), places); placed && diff != "" {
					t.Errorf("%s: places (-want +got)\n%s", engine, diff)
				}
				if n := int64(len(seen) - len(rows)); l.Filtered() != n && f.Args["drop_remainder"] != true {
					t.Errorf("%s: %d are filtered, want %d", engine, l.Filtered(), n)
				}
				if other, _ := textsOf(t, l, nil); !cmp.Equal(texts, other) {
					t.Errorf("%s gives other values", engine)
				}
				for at := 0; at+1 < len(states) && at < 2; at++ {
					rest, _, again := idsOf(t, l, &loaders.RunOptions{State: states[at], SaveEvery: 1})
					if diff := cmp.Diff(want[at+1:], rest); diff != "" {
						t.Fatalf("%s, from batch %d (-want +got)\n%s", engine, at, diff)
					}
					if last, _, _ := idsOf(t, l, &loaders.RunOptions{State: again[0]}); !cmp.Equal(want[at+2:], last, cmpopts.EquateEmpty()) {
						t.Fatalf("%s, from batch %d and then from the next: got %v, want %v", engine, at, last, want[at+2:])
					}
					if n := int64(len(seen) - len(rows)); l.Filtered() != n && f.Args["drop_remainder"] != true {
						t.Errorf("%s, from batch %d: %d are filtered, want %d", engine, at, l.Filtered(), n)
					}
				}
			}
		})
	}
}

// An endless loader whose filter keeps nothing ends with an error that names the filter.
func TestFilterKeepsNothing(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 9)...)
	f.Args["epochs"] = nil
	f.Args["processing_steps"] = []fixture.Object{filter(77)}
	for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		var bad *millrace.Error
		for _, err := range l.Batches(t.Context()) {
			if !errors.As(err, &bad) {
				t.Fatalf("%s: got %v", engine, err)
			}
		}
		if bad == nil || bad.Key != "args.processing_steps[0]" || !strings.Contains(bad.Msg, "id in [77]") {
			t.Errorf("%s: got %v", engine, bad)
		}
	}
	f.Args["processing_steps"] = []fixture.Object{filter(3)}
	for b, err := range openSequence(t, f).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if ids := column[int64](t, b, "id"); !slices.Equal(ids, []int64{3, 3}) {
			t.Errorf("got %v, want the third record of two epochs", ids)
		}
		break
	}
}

// A filter of lists, of examples in buckets, and of windows in buckets keeps what it keeps elsewhere, in batches of
// the same bucket, with both engines.
func TestFilterOfLists(t *testing.T) {
	testruntime.Need(t)
	bucket := fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "boundaries": []int{3}}, "padding": true}
	longer := []fixture.Object{{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{{"tensor": "pos", "length": 0, "op": "ge", "value": 2}}}}}
	windows := fixture.Object{"min_window": 1, "max_window": 5, "tail": "keep"}
	for _, tt := range []struct {
		name, kind string
		args       fixture.Object
	}{
		{"lists", "independent", fixture.Object{"padding": true}},
		{"buckets", "independent", bucket},
		{"windows", "continuous_sequence", with(windows, fixture.Object{"padding": true})},
		{"windows in buckets", "continuous_sequence", with(windows, bucket)},
	} {
		f := newSequence(t, tt.kind, newSequenceData([][]int{{4, 1, 7, 0, 2}, {1, 3, 5}}))
		maps.Copy(f.Args, with(tt.args, fixture.Object{"seed": 3}))
		rows := func(l *loaders.Loader) (all []string) {
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, fmt.Sprint(windowOf(t, b)))
			}
			return all
		}
		var want []string
		for _, row := range rows(openSequence(t, f)) {
			if strings.Contains(row, " ") { // two positions or more
				want = append(want, row)
			}
		}
		f.Args["processing_steps"] = longer
		for engine, open := range openings {
			l := open(t, f)
			if got := rows(l); !cmp.Equal(want, got) || len(want) < 3 {
				t.Errorf("%s, %s (-want +got)\n%s", tt.name, engine, cmp.Diff(want, got))
			}
		}
	}
}
