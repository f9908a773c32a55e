package loaders_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	stagewindow "millrace/loaders/stage/window"
	"millrace/tfrecord/example"
)

// readAll reads a dataset to its end and returns the number of batches and
// the error.
func readAll(t *testing.T, f *fixture.Dataset) (batches int, err error) {
	t.Helper()
	f.Save(t)
	l, err := loaders.Open(f.Config(), nil)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	for _, err := range l.Batches(t.Context()) {
		if err != nil {
			return batches, err
		}
		batches++
	}
	return batches, nil
}

// TestSequenceFaults checks the errors for data that gives no windows, or too few for a
// batch.
func TestSequenceFaults(t *testing.T) {
	testruntime.Need(t)
	const continuous, discrete = "continuous_sequence", "discrete_sequence"
	short := [][]int{{2, 3}, {1, 1, 1, 1, 1, 1}, {}}
	long := [][]int{{2, 3, 4, 5, 6, 7, 8}, {9, 9}}
	tests := []struct {
		name  string
		w     window
		files [][]int
		args  fixture.Object
		words []string
	}{
		{"continuous, no window", window{kind: continuous, min: 9, max: 12}, short, nil,
			[]string{"01.tfrecords", "args.min_window", "9 positions", "longest has 6"}},
		{"discrete, no window", window{kind: discrete, min: 7, max: 7}, short, nil,
			[]string{"01.tfrecords", "args.min_window", "7 records", "longest has 6"}},
		{"endless, no window", window{kind: continuous, min: 9, max: 12}, short, fixture.Object{"epochs": nil},
			[]string{"01.tfrecords", "9 positions"}},
		{"endless, no records", window{kind: discrete, min: 1, max: 1}, [][]int{{}}, fixture.Object{"epochs": nil},
			[]string{"no records", "args.epochs"}},
		{"no padding", window{kind: continuous, min: 1, max: 8}, long, fixture.Object{"target_batch_size": 8, "seed": 1},
			[]string{`tensor "p`, "differ in shape", "args.padding"}},
		{"padded to less", window{kind: continuous, min: 2, max: 8}, long, fixture.Object{
			"target_batch_size": 8, "seed": 1,
			"padding": []fixture.Object{{"tensor": "pos", "shape": []int{2}}},
		}, []string{`tensor "pos"`, "larger than its padding [2]"}},
		{"index out of range", window{kind: continuous, min: 1, max: 8}, long, fixture.Object{
			"seed":             1,
			"processing_steps": []fixture.Object{{"type": "slice", "tensor": "pos", "args": fixture.Object{"slice": "[6]"}}},
		}, []string{`tensor "pos"`, "args.processing_steps[0]", "index 6 is out of range"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newSequence(t, test.w.kind, newSequenceData(test.files))
			test.w.tail = "keep"
			test.w.set(f)
			for key, value := range test.args {
				f.Args[key] = value
			}
			_, err := readAll(t, f)
			if !errors.Is(err, millrace.ErrSchema) {
				t.Fatalf("error %v, want one of class schema", err)
			}
			for _, word := range test.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q, want it to name %q", err, word)
				}
			}
		})
	}
}

// TestWindowsBeforeABadRecord checks that the windows before a record whose features
// differ in length are delivered, although many records are parsed at once, and that
// the error names the record.
func TestWindowsBeforeABadRecord(t *testing.T) {
	testruntime.Need(t)
	f := newSequence(t, "continuous_sequence", newSequenceData([][]int{{5, 5, 5}}))
	window{min: 2, max: 2, tail: "keep"}.set(f)
	var records [][]byte
	for i := range int64(20) {
		pair := []example.Feature{fixture.Floats(1, 2), fixture.Floats(3, 4)}
		if i == 13 {
			pair = pair[:1]
		}
		records = append(records, example.MarshalSequence(nil, []example.NamedList{
			{Name: "pos", Features: []example.Feature{fixture.Ints(i), fixture.Ints(i)}}, {Name: "pair", Features: pair},
		}))
	}
	f.WriteRecords(t, "00.tfrecords", records...)
	batches, err := readAll(t, f)
	var e *millrace.Error
	if !errors.As(err, &e) || e.Record != 13 || !strings.HasSuffix(e.File, "00.tfrecords") {
		t.Fatalf("error %v, want one about record 13 of 00.tfrecords", err)
	}
	for _, word := range []string{"pos", "pair", "2 and 1 positions"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q, want it to name %s", err, word)
		}
	}
	if batches != 13 {
		t.Errorf("%d batches before the bad record, want 13", batches)
	}
}

// TestEndlessWithoutWindowsRemotely checks that an endless loader over short
// files that only TensorFlow can read ends with an error.
func TestEndlessWithoutWindowsRemotely(t *testing.T) {
	testruntime.Need(t)
	f := newSequence(t, "continuous_sequence", newSequenceData([][]int{{2}, {1}}))
	window{min: 4, max: 6, tail: "drop"}.set(f)
	list := ""
	for i := range 2 {
		file, err := os.ReadFile(f.Path(fmt.Sprintf("%02d.tfrecords", i)))
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("ram://short/%02d", i)
		writeRAM(t, name, file)
		list += name + "\n"
	}
	f.Write(t, "files.txt", []byte(list))
	f.Args["epochs"] = nil
	f.Args["dataset"] = fixture.Object{"type": "list", "args": fixture.Object{
		"list_file": f.Path("files.txt"), "manifest_file": f.Path("__manifest__.json"),
	}}
	_, err := readAll(t, f)
	if !errors.Is(err, millrace.ErrSchema) || !strings.Contains(err.Error(), "4 positions") {
		t.Errorf("error %v, want one about windows of 4 positions", err)
	}
}

func TestShortFiles(t *testing.T) {
	testruntime.Need(t)
	for _, kind := range []string{"continuous_sequence", "discrete_sequence"} {
		f := newSequence(t, kind, newSequenceData([][]int{{1, 1, 1, 1}, {1, 1}, {}, {2, 1, 1}}))
		window{min: 3, max: 3, tail: "keep"}.set(f)
		l := openSequence(t, f)
		short, err := stagewindow.ShortFiles(t.Context(), l.Plan().Spec, l.Scan())
		if err != nil {
			t.Fatal(err)
		}
		if len(short) != 2 || short.HasErrors() || !strings.HasSuffix(short[0].File, "01.tfrecords") ||
			!strings.HasSuffix(short[1].File, "02.tfrecords") {
			t.Errorf("%s: warnings\n%v\nwant two, of 01.tfrecords and 02.tfrecords", kind, short)
		}
	}
}
