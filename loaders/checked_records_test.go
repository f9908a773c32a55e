package loaders_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/cases"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/quarantine"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// Where duplicate_features is error, a record is bad if it has a key twice, in one
// Example or in the two halves of a split one, whether the feature is read or not. The
// error names the record and the key.
func TestDuplicateFeatures(t *testing.T) {
	testruntime.Need(t)
	one := func(name string, v ...int64) []byte {
		return example.Marshal([]example.Named{named(name, fixture.Ints(v...))})
	}
	tests := map[string]struct {
		record []byte
		key    string // "": the record is good
	}{
		"in one Example": {example.Marshal([]example.Named{named("xs", fixture.Floats(5, 2)), named("id", fixture.Ints(5)), named("id", fixture.Ints(5))}), "id"},
		"in two halves":  {slices.Concat(fixture.Record(5), one("id", 5)), "id"},
		"not read":       {slices.Concat(fixture.Record(5), one("more", 1), one("more", 1)), "more"},
		"two halves":     {slices.Concat(fixture.Record(5), one("more", 1)), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := fixture.New(t)
			d.Args["duplicate_features"] = "error"
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
			d.WriteRecords(t, "b.tfrecords", fixture.Record(4), test.record, fixture.Record(6))
			ids, err := read(t, d)
			if test.key == "" {
				if diff := cmp.Diff([]int64{0, 1, 2, 3, 4, 5, 6}, ids); diff != "" || err != nil {
					t.Errorf("%v, ids (-want +got)\n%s", err, diff)
				}
				return
			}
			words := []string{"b.tfrecords: record 1 ", fmt.Sprintf("feature %q", test.key), "more than one feature of this name"}
			checkFault(t, &fault{class: millrace.ErrSchema, words: words}, err)
			checkLeftOut(t, d, words[2])
		})
	}
}

// checkLeftOut checks that both engines leave out and list record 1 of b.tfrecords,
// which is bad, if the config has them skip bad records.
func checkLeftOut(t *testing.T, d *fixture.Dataset, reason string) {
	t.Helper()
	d.Args["bad_records"] = fixture.Object{"skip": 1}
	for _, isNative := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "ledger")
		batches, _ := batchesOf(t, openBad(t, d, isNative, path), nil)
		if diff := cmp.Diff([]int64{0, 1, 2, 3, 4, 6}, slices.Concat(batches...)); diff != "" {
			t.Errorf("native %v, ids (-want +got)\n%s", isNative, diff)
		}
		listed, err := quarantine.Read(path)
		if err != nil || len(listed) != 1 || !strings.Contains(listed[0].Reason, reason) {
			t.Errorf("native %v: the ledger lists %+v (%v), want the reason %q", isNative, listed, err, reason)
		}
	}
}

// duplicateCases are cases of every type of loader, of Examples and SequenceExamples.
var duplicateCases = []string{"compression-gzip", "cont-gzip", "disc-zlib", "chunk-gzip"}

// Loaders of every type leave out records that have their features twice, those of
// SequenceExamples too.
func TestDuplicateFeaturesOfEveryType(t *testing.T) {
	testruntime.Need(t)
	const most = 20 // batches: some cases have no end
	for _, name := range duplicateCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := firstTexts(t, openCase(t, cases.Prepare(t, name), true), most, nil)
			dir := cases.Prepare(t, name)
			bad := addBadRecords(t, dir, addDuplicatesTo, map[string]any{"duplicate_features": "error"})
			if bad == 0 || len(want) == 0 {
				t.Fatalf("%d bad records, %d batches", bad, len(want))
			}
			for _, isNative := range []bool{true, false} {
				got, _ := firstTexts(t, openBadCase(t, dir, "", isNative), most, nil)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("native %v (-want +got)\n%s", isNative, diff)
				}
			}
		})
	}
}

// addDuplicatesTo adds a bad record to a data file, after its first record and at the
// end: the bytes of that record twice, which is a message with every key twice.
func addDuplicatesTo(t *testing.T, path string) (bad int) {
	t.Helper()
	return addTo(t, path, func(first []byte) (second, last []byte) {
		data := first[corrupt.HeaderSize : len(first)-(corrupt.FrameSize-corrupt.HeaderSize)]
		twice := corrupt.Frame(bytes.Repeat(data, 2))
		return twice, twice
	})
}

// A record of 0 bytes of which every feature has a default is read as a record without
// features where allow_empty_records is true, and is bad where it is false. Without
// that key it is bad where records are checked.
func TestEmptyRecords(t *testing.T) {
	testruntime.Need(t)
	for _, test := range []struct {
		allow any
		skip  bool // bad_records
		rows  int64
		bad   bool
	}{
		{nil, false, 3, false},
		{nil, true, 2, false},
		{true, false, 3, false},
		{true, true, 3, false},
		{false, false, 1, true},
		{false, true, 2, false},
	} {
		d := fixture.New(t)
		d.Manifest["features"] = []fixture.Object{{"name": "fs", "dtype": "float32", "shape": []int{-1}, "deserialize_type": "float", "default": []int{}}}
		d.Args["primary_features"] = []fixture.Object{{"from_name": "fs", "to_name": "fs"}}
		d.Args["padding"], d.Args["target_batch_size"] = true, 1
		d.Args["allow_empty_records"] = test.allow
		if test.skip {
			d.Args["bad_records"] = fixture.Object{"skip": 1}
		}
		good := example.Marshal([]example.Named{named("fs", fixture.Floats(1, 2))})
		d.WriteRecords(t, "a.tfrecords", good, nil, good)
		for _, isNative := range []bool{true, false} {
			rows, err := countRows(t, openBad(t, d, isNative, ""), "fs")
			if rows != test.rows || (err != nil) != test.bad {
				t.Errorf("%+v, native %v: %d rows and %v, want %d", test, isNative, rows, err, test.rows)
			}
			if err != nil {
				checkFault(t, &fault{class: millrace.ErrSchema, words: []string{"a.tfrecords: record 1 ", "empty record"}}, err)
			}
		}
	}
}

// countRows counts the rows of a tensor up to the end of a run.
func countRows(t *testing.T, l *loaders.Loader, tensor string) (rows int64, err error) {
	t.Helper()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			return rows, err
		}
		rows += b.Tensor(tensor).Shape()[0]
	}
	return rows, nil
}
