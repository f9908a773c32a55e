package loaders_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// largeWaves returns a continuous_sequence over files of 9, 1 and 12 records, which are
// so large that their values are read directly into place. Their positions are counted
// through all files.
func largeWaves(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	const positions = 5000
	f := fixture.New(t)
	f.Type = "continuous_sequence"
	f.Manifest["features"] = []fixture.Object{{"name": "pos", "dtype": "float32", "shape": []int{positions}, "deserialize_type": "float"}}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "pos", "to_name": "pos"}}
	n := float32(0)
	for i, records := range []int{9, 1, 12} {
		var all [][]byte
		for range records {
			values := make([]float32, positions)
			for k := range values {
				values[k], n = n, n+1
			}
			all = append(all, example.Marshal([]example.Named{{Name: "pos", Feature: example.Feature{Kind: example.Float, Floats: values}}}))
		}
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), all...)
	}
	maps.Copy(f.Args, fixture.Object{"seed": 2, "target_batch_size": 2, "epochs": 3})
	maps.Copy(f.Args, args)
	return f
}

// wavesOf returns the batches of a run as text, its states, and its final error. The
// text of a window has its first and last numbers and their sum.
func wavesOf(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (batches []string, states [][]byte, end error) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			return batches, states, err
		}
		text := fmt.Sprint(b.Tensor("pos").Shape())
		for _, w := range b.Tensor("pos").Value().([][]float32) {
			sum := 0.0
			for _, v := range w {
				sum += float64(v)
			}
			text += fmt.Sprintf(" %.0f..%.0f %.0f", w[0], w[len(w)-1], sum)
		}
		batches, states = append(batches, text), append(states, b.State())
	}
	return batches, states, nil
}

// Several threads make the same elements ahead as one thread makes in order, at the
// ends of files and epochs too, and the same states.
func TestWindowsAhead(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"short":           {"min_window": 700, "max_window": 700},
		"long":            {"min_window": 12_000, "max_window": 12_000},
		"whole records":   {"min_window": 5000, "max_window": 5000},
		"kept tails":      {"min_window": 4000, "max_window": 7000, "tail": "keep", "padding": true},
		"padded tails":    {"min_window": 3000, "max_window": 3000, "tail": "pad"},
		"drop remainders": {"min_window": 2500, "max_window": 2500, "drop_remainder": true, "target_batch_size": 7},
	} {
		f := largeWaves(t, args)
		f.Args["num_parallel_parses"] = 1
		one := openSequence(t, f)
		want, _, err := wavesOf(t, one, &loaders.RunOptions{SaveEvery: 1})
		if err != nil {
			t.Fatal(name, err)
		}
		f.Args["num_parallel_parses"] = 4
		several := openSequence(t, f)
		got, _, err := wavesOf(t, several, nil)
		if diff := cmp.Diff(want, got); err != nil || len(want) < 6 || diff != "" {
			t.Errorf("%s: %d batches (-one thread +several)\n%s\n%v", name, len(want), diff, err)
		}
		got, states, err := wavesOf(t, several, &loaders.RunOptions{SaveEvery: 1})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: with states: %v", name, err)
		}
		for i := 0; i < len(want); i += 1 + len(want)/5 {
			rest, _, err := wavesOf(t, several, &loaders.RunOptions{State: states[i]})
			if err != nil || !slices.Equal(rest, want[i+1:]) || len(states[i]) > 4096 {
				t.Errorf("%s: from batch %d, %d bytes of state: got %d batches, want %d, %v", name, i+1, len(states[i]), len(rest), len(want)-i-1, err)
			}
		}
	}
}

// The error names a record that cannot be read, and the batches before it are
// delivered.
func TestWindowsAheadOfABadRecord(t *testing.T) {
	testruntime.Need(t)
	f := largeWaves(t, fixture.Object{"min_window": 1250, "max_window": 1250, "epochs": 1})
	path := f.Path("2.tfrecords")
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bytes[len(bytes)-100]++ // a byte of the last record
	if err := os.WriteFile(path, bytes, 0o666); err != nil {
		t.Fatal(err)
	}
	var all [2][]string
	for i, threads := range []int{1, 4} {
		f.Args["num_parallel_parses"] = threads
		batches, _, err := wavesOf(t, openSequence(t, f), nil)
		if err == nil {
			t.Fatalf("%d threads: no error", threads)
		}
		all[i] = append(batches, err.Error())
	}
	if diff := cmp.Diff(all[0], all[1]); len(all[0]) < 40 || diff != "" {
		t.Errorf("%d batches (-one thread +several)\n%s", len(all[0]), diff)
	}
}
