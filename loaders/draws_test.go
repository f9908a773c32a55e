package loaders_test

import (
	"fmt"
	"maps"
	"testing"

	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// drawnData is a dataset of three files whose tensor "xs" two random steps change.
func drawnData(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
	f.WriteRecords(t, "b.tfrecords", fixture.Records(5, 6)...)
	f.WriteRecords(t, "c.tfrecords", fixture.Records(6, 13)...)
	gain := func(name string) fixture.Object {
		return fixture.Object{"tensor": "one", "to_name": name, "type": "random_gain", "args": fixture.Object{"lower": 0.25, "upper": 1.5}}
	}
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "constant", "to_name": "one", "args": fixture.Object{"dtype": "float32", "value": 1}}, gain("first"), gain("second"),
	}
	f.Args["epochs"], f.Args["seed"], f.Args["target_batch_size"] = 2, 5, 3
	maps.Copy(f.Args, args)
	return f
}

// drawnOf counts the rows of a loader: the number of a record, and what the two steps drew.
func drawnOf(t *testing.T, l *loaders.Loader) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tfbridge.View[int64](b.Tensor("id"))
		if err != nil {
			t.Fatal(err)
		}
		var drawn [2][]float32
		for i, name := range []string{"first", "second"} {
			if drawn[i], err = tfbridge.View[float32](b.Tensor(name)); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range ids {
			rows[fmt.Sprint(id, drawn[0][i], drawn[1][i])]++
		}
	}
	return rows
}

// finalize is splitmix64's finaliser.
func finalize(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// expectedDraws are the rows that follow from the rule of docs/config.md: the pair for TensorFlow's
// stateless functions is made of seed, epoch, step and position.
func expectedDraws(t *testing.T, seed uint64, epochs, records int) map[string]int {
	t.Helper()
	s := graph.NewScope()
	defer s.Graph().Close()
	var fetches []tfbridge.Output
	for epoch := range epochs {
		for position := range records {
			for _, step := range []uint64{1, 2} {
				pair := []int64{int64(finalize(finalize(finalize(seed)^uint64(epoch)) ^ step)), int64(position)}
				drawn := graph.NewTensor(s, graph.StatelessRandomUniform(s, s.Const([]int32{}), s.Const(pair)))
				fetches = append(fetches, drawn.Mul(1.25).Add(0.25).Output())
			}
		}
	}
	got, err := graph.Exec(t.Context(), s, fetches, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for i := 0; i < len(got); i += 2 {
		var pair [2]float32
		for k, x := range got[i : i+2] {
			defer x.Close()
			v, err := tfbridge.View[float32](x)
			if err != nil {
				t.Fatal(err)
			}
			pair[k] = v[0]
		}
		rows[fmt.Sprint(i/2%records, pair[0], pair[1])]++
	}
	return rows
}

// Random steps draw from seed, epoch, step and position alone: the same with all engines, numbers
// of threads, sizes of batches, shuffles and buckets, and in the union of all shards.
func TestRandomStepsFollowPositions(t *testing.T) {
	testruntime.Need(t)
	want := expectedDraws(t, 5, 2, 13)
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2}
	exact := fixture.Object{"shuffle": true, "shuffle_mode": "exact"}
	skipping := fixture.Object{"bad_records": fixture.Object{"skip": 2}}
	for _, tt := range []struct {
		name string
		args []fixture.Object // arguments of loaders whose rows together are all rows
	}{
		{"in order", []fixture.Object{{"num_parallel_parses": 8, "target_batch_size": 5}}},
		{"shuffled", []fixture.Object{buffers}},
		{"in an exact order", []fixture.Object{exact}},
		{"skipping bad records", []fixture.Object{with(buffers, skipping)}},
		{"shards", []fixture.Object{
			with(exact, fixture.Object{"shard": fixture.Object{"count": 2, "index": 0}}), with(exact, fixture.Object{"shard": fixture.Object{"count": 2, "index": 1}}),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for engine, open := range map[string]func(*testing.T, *fixture.Dataset) *loaders.Loader{
				"native": func(t *testing.T, f *fixture.Dataset) *loaders.Loader { return openSequence(t, f) }, "general": openGeneral,
			} {
				rows := map[string]int{}
				for _, args := range tt.args {
					for row, n := range drawnOf(t, open(t, drawnData(t, args))) {
						rows[row] += n
					}
				}
				if diff := cmp.Diff(want, rows); diff != "" {
					t.Errorf("%s (-want +got)\n%s", engine, diff)
				}
			}
		})
	}
}

// A run with random steps that continues from a state gives the batches of a whole run, from
// every state.
func TestRandomStepsAreResumed(t *testing.T) {
	testruntime.Need(t)
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2}
	for name, args := range map[string]fixture.Object{"in order": nil, "shuffled": buffers, "exact": {"shuffle": true, "shuffle_mode": "exact"}} {
		l := openSequence(t, drawnData(t, args))
		want, states := textsOf(t, l, &loaders.RunOptions{SaveEvery: 1})
		for at := 0; at+1 < len(states); at += 2 {
			got, _ := textsOf(t, l, &loaders.RunOptions{State: states[at]})
			if diff := cmp.Diff(want[at+1:], got); diff != "" {
				t.Fatalf("%s, from batch %d (-whole +rest)\n%s", name, at, diff)
			}
		}
	}
}

// with returns arguments with others.
func with(args, more fixture.Object) fixture.Object {
	all := maps.Clone(args)
	maps.Copy(all, more)
	return all
}
