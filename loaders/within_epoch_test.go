package loaders_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
)

// rowsOf returns the numbers of a batch's rows: their "id", or where windows begin.
func rowsOf(t *testing.T, b *loaders.Batch) (rows []int64) {
	t.Helper()
	if slices.Contains(b.Names(), "id") {
		return slices.Clone(column[int64](t, b, "id"))
	}
	all := column[int64](t, b, "pos")
	for i := int64(0); i < b.Rows(); i++ {
		rows = append(rows, all[i*int64(len(all))/b.Rows()])
	}
	return rows
}

// readRows returns the rows of each batch, the states after them, and the batches as texts.
func readRows(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (rows [][]int64, states [][]byte, texts []string) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		rows, states, texts = append(rows, rowsOf(t, b)), append(states, b.State()), append(texts, textOf(t, b))
	}
	return rows, states, texts
}

// epochBatches cuts the rows of epochs of a size into batches.
func epochBatches(rows []int64, epoch, size int, drop bool) (batches [][]int64) {
	for each := range slices.Chunk(rows, epoch) {
		for b := range slices.Chunk(each, size) {
			if len(b) == size || !drop {
				batches = append(batches, b)
			}
		}
	}
	return batches
}

// With batch_within_epoch an epoch's end ends its last batch: the rows are single examples, cut
// epoch by epoch. That holds in every order, with both engines, and from each state
// of one engine with the other.
func TestBatchWithinEpoch(t *testing.T) {
	testruntime.Need(t)
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2}
	exact := fixture.Object{"shuffle": true, "shuffle_mode": "exact"}
	dropping := fixture.Object{"drop_remainder": true}
	gain := fixture.Object{"processing_steps": []fixture.Object{{"tensor": "xs", "type": "random_gain", "args": fixture.Object{"lower": 0.25, "upper": 1.5}}}}
	waves := fixture.Object{"min_window": 4, "max_window": 4}
	for _, tt := range []struct {
		name    string
		args    fixture.Object
		windows bool
		epoch   int
	}{
		{"in order", nil, false, 13},
		{"in order, dropping", with(dropping, fixture.Object{"num_parallel_parses": 3}), false, 13},
		{"shuffled", buffers, false, 13},
		{"shuffled, dropping", with(buffers, dropping), false, 13},
		{"exact", with(exact, fixture.Object{"num_prefetch": 3}), false, 13},
		{"exact, dropping", with(exact, dropping), false, 13},
		{"shard", with(exact, fixture.Object{"shard": fixture.Object{"count": 2, "index": 1}}), false, 6},
		{"skipping", fixture.Object{"bad_records": fixture.Object{"skip": 2}}, false, 13},
		{"skipping, exact", with(exact, fixture.Object{"bad_records": fixture.Object{"skip": 2}}), false, 13},
		{"padded", with(exact, fixture.Object{"padding": []fixture.Object{{"tensor": "xs", "shape": []int{4}}}}), false, 13},
		{"random steps", with(exact, gain), false, 13},
		{"random steps, shuffled", with(buffers, gain), false, 13},
		{"mixup", with(exact, fixture.Object{"batch_steps": []fixture.Object{{"type": "mixup", "tensors": []string{"xs"}, "args": fixture.Object{"alpha": 0.4}}}}), false, 13},
		{"filter", with(exact, fixture.Object{"processing_steps": []fixture.Object{filter(kept...)}}), false, 6},
		{"filter, shuffled, dropping", with(buffers, with(dropping, fixture.Object{"processing_steps": []fixture.Object{filter(kept...)}})), false, 6},
		{"windows", waves, true, 8},
		{"windows, shuffled", with(buffers, waves), true, 8},
		{"windows, exact, dropping", with(exact, with(waves, dropping)), true, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fixture.New(t)
			if tt.windows {
				f = wavesData(t, nil)
			} else {
				f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
				f.WriteRecords(t, "b.tfrecords", fixture.Records(5, 6)...)
				f.WriteRecords(t, "c.tfrecords", fixture.Records(6, 13)...)
			}
			maps.Copy(f.Args, fixture.Object{"epochs": 3, "seed": 5, "target_batch_size": 1})
			maps.Copy(f.Args, tt.args)
			single, _, _ := readRows(t, openSequence(t, f), nil)
			if len(single) != 3*tt.epoch {
				t.Fatalf("%d rows, want 3 epochs of %d", len(single), tt.epoch)
			}
			const size = 5
			f.Args["target_batch_size"], f.Args["batch_within_epoch"] = size, true
			want := epochBatches(slices.Concat(single...), tt.epoch, size, f.Args["drop_remainder"] == true)
			var first []string
			saved := map[string][][]byte{}
			for engine, open := range openings {
				rows, states, texts := readRows(t, open(t, f), &loaders.RunOptions{SaveEvery: 1})
				if diff := cmp.Diff(want, rows); diff != "" {
					t.Fatalf("%s (-want +got)\n%s", engine, diff)
				}
				if first == nil {
					first = texts
				} else if diff := cmp.Diff(first, texts); diff != "" {
					t.Fatalf("the engines differ\n%s", diff)
				}
				saved[engine] = states
				if rows, _, _ := readRows(t, open(t, f), nil); !cmp.Equal(want, rows) {
					t.Fatalf("%s, without states (-want +got)\n%s", engine, cmp.Diff(want, rows))
				}
				_, states, _ = readRows(t, open(t, f), &loaders.RunOptions{SaveEvery: 4})
				for i, state := range states {
					if saves := i%4 == 3; (state != nil) != saves {
						t.Errorf("%s: a state after batch %d: %v, want %v", engine, i, state != nil, saves)
					}
					if i%8 != 3 {
						continue
					}
					if _, _, rest := readRows(t, open(t, f), &loaders.RunOptions{State: state}); !slices.Equal(texts[i+1:], rest) {
						t.Errorf("%s, from the state after batch %d (-whole +rest)\n%s", engine, i, cmp.Diff(texts[i+1:], rest))
					}
				}
			}
			for from, states := range saved {
				for engine, open := range openings {
					l := open(t, f)
					for at := range states {
						if at%3 != 1 && at != len(states)-1 && engine == from {
							continue
						}
						if _, _, rest := readRows(t, l, &loaders.RunOptions{State: states[at]}); !slices.Equal(first[at+1:], rest) {
							t.Fatalf("%s from a state of %s after batch %d (-whole +rest)\n%s", engine, from, at, cmp.Diff(first[at+1:], rest))
						}
					}
				}
			}
		})
	}
}

// An endless loader whose epochs have no whole batch would wait for ever.
func TestBatchWithinEpochNone(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	maps.Copy(f.Args, fixture.Object{"epochs": nil, "batch_within_epoch": true, "drop_remainder": true, "target_batch_size": 4, "shuffle": true, "shuffle_mode": "exact"})
	for _, err := range openSequence(t, f).Batches(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "an epoch has 3 examples, and drop_remainder drops them") {
			t.Errorf("got %v", err)
		}
		return
	}
	t.Error("no error")
}

// What cannot be is refused, with the reason.
func TestBatchWithinEpochRefused(t *testing.T) {
	keeps := fixture.Object{"processing_steps": []fixture.Object{filter(kept...)}}
	for want, args := range map[string]fixture.Object{
		"files that are read by their place":        keeps,
		"leave out bad_records, the filter":         with(keeps, fixture.Object{"bad_records": fixture.Object{"skip": 1}}),
		"which drop_remainder would drop; set drop": {"drop_remainder": true, "bad_records": fixture.Object{"skip": 1}},
	} {
		f := fixture.New(t)
		f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
		f.Args["batch_within_epoch"] = true
		maps.Copy(f.Args, args)
		f.Save(t)
		if p, problems := loaders.Check(f.Config(), nil); p != nil || !strings.Contains(problems.Error(), want) || !strings.Contains(problems.Error(), "args.batch_within_epoch: ") {
			t.Errorf("%q: got %v", want, problems)
		}
	}
}
