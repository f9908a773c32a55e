package loaders_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/observe"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// textNumbers returns a dataset whose feature "text" holds a number, but for the records 4 and 11,
// and a config that reads the number.
func textNumbers(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
	}
	for _, file := range []struct {
		name     string
		from, to int64
	}{{"a.tfrecords", 0, 5}, {"b.tfrecords", 5, 6}, {"c.tfrecords", 6, 13}} {
		var records [][]byte
		for id := file.from; id < file.to; id++ {
			text := fmt.Sprint(id)
			if id == 4 || id == 11 {
				text = "no number"
			}
			records = append(records, example.Marshal([]example.Named{
				{Name: "id", Feature: fixture.Ints(id)}, {Name: "text", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(text)}}},
			}))
		}
		f.WriteRecords(t, file.name, records...)
	}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}, {"from_name": "text", "to_name": "words"}}
	f.Args["epochs"], f.Args["seed"], f.Args["target_batch_size"] = 2, 5, 3
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "strip", "tensor": "words"},
		{"type": "to_number", "tensor": "words", "to_name": "n", "args": fixture.Object{"dtype": "int64"}},
	}
	for key, value := range args {
		f.Args[key] = value
	}
	return f
}

// A record that a step cannot be carried out on is skipped where bad_records says so, with both
// engines and in all orders, and reported with its file, feature and step.
func TestStepsSkipBadRecords(t *testing.T) {
	testruntime.Need(t)
	exact := fixture.Object{"shuffle": true, "shuffle_mode": "exact"}
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2}
	for name, args := range map[string]fixture.Object{"in order": {}, "exact": exact, "shuffled": buffers} {
		for engine, open := range map[string]func(*testing.T, *fixture.Dataset) *loaders.Loader{
			"native": func(t *testing.T, f *fixture.Dataset) *loaders.Loader { return openSequence(t, f) }, "general": openGeneral,
		} {
			l := open(t, textNumbers(t, with(args, fixture.Object{"bad_records": fixture.Object{"skip": 2}})))
			var left []string
			heard := &observe.Listener{LeftOut: func(e observe.LeftOut) {
				left = append(left, fmt.Sprintf("%s %d %s: %s", e.File[len(e.File)-len("a.tfrecords"):], e.Record, e.Feature, e.Reason))
			}}
			batches, _, states := idsOf(t, l, &loaders.RunOptions{SaveEvery: 1, Observe: heard})
			ids := slices.Concat(batches...)
			if len(ids) != 22 || slices.Contains(ids, 4) || slices.Contains(ids, 11) {
				t.Errorf("%s, %s: got %v, want all but 4 and 11 twice", name, engine, ids)
			}
			slices.Sort(left)
			if len(left) != 2 || !strings.HasPrefix(left[0], "a.tfrecords 4 text: the step to_number cannot be carried out: ") || !strings.HasPrefix(left[1], "c.tfrecords 5 text: ") {
				t.Errorf("%s, %s: reported %q", name, engine, left)
			}
			rest, _, _ := idsOf(t, l, &loaders.RunOptions{State: states[3]})
			if diff := cmp.Diff(batches[4:], rest); diff != "" {
				t.Errorf("%s, %s: from batch 3 (-want +got)\n%s", name, engine, diff)
			}
		}
	}
}

// Without room for the second bad record, and without bad_records at all, the run ends with an
// error that names it. A step after a filter does not see what the filter drops.
func TestStepsEndAtBadRecords(t *testing.T) {
	testruntime.Need(t)
	number := textNumbers(t, nil).Args["processing_steps"].([]fixture.Object)
	for _, tt := range []struct {
		name   string
		args   fixture.Object
		record int64 // ordinal of the bad one; -1: none is bad
		rows   int
	}{
		{"one may be skipped", fixture.Object{"bad_records": fixture.Object{"skip": 1}}, 5, 10},
		{"none may be skipped", nil, 4, 4},
		{"both are filtered", fixture.Object{"epochs": 1, "processing_steps": slices.Concat([]fixture.Object{
			{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{{"tensor": "words", "op": "ne", "value": "no number"}}}}}, number)}, -1, 11},
		{"both are filtered before they are bad", fixture.Object{"epochs": 1, "bad_records": fixture.Object{"skip": 1}, "processing_steps": slices.Concat([]fixture.Object{
			{"type": "filter", "args": fixture.Object{"conditions": []fixture.Object{{"tensor": "words", "op": "ne", "value": "no number"}}}}}, number)}, -1, 11},
	} {
		for engine, open := range map[string]func(*testing.T, *fixture.Dataset) *loaders.Loader{
			"native": func(t *testing.T, f *fixture.Dataset) *loaders.Loader { return openSequence(t, f) }, "general": openGeneral,
		} {
			args := with(fixture.Object{"target_batch_size": 1}, tt.args)
			rows, bad := 0, (*millrace.Error)(nil)
			for b, err := range open(t, textNumbers(t, args)).Batches(t.Context()) {
				if err != nil {
					if !errors.As(err, &bad) {
						t.Fatal(err)
					}
					break
				}
				rows += int(b.Rows())
			}
			if rows != tt.rows || (bad == nil) != (tt.record < 0) {
				t.Errorf("%s, %s: %d rows, then %v; want %d", tt.name, engine, rows, bad, tt.rows)
			}
			if bad != nil && (bad.Record != tt.record || bad.Feature != "text" || bad.Key != "args.processing_steps[1]" || bad.File == "") {
				t.Errorf("%s, %s: got %v", tt.name, engine, bad)
			}
		}
	}
}
