package loaders_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// rawManifest makes "xs" two int16 stored as bytes.
func rawManifest(d *fixture.Dataset) {
	d.Manifest["features"].([]fixture.Object)[1] = fixture.Object{
		"name": "xs", "dtype": "int16", "shape": []int{2}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "little"},
	}
}

func rawRecord(id int64, values ...string) []byte {
	f := example.Feature{Kind: example.Bytes}
	for _, v := range values {
		f.Bytes = append(f.Bytes, []byte(v))
	}
	return example.Marshal([]example.Named{named("id", fixture.Ints(id)), named("xs", f)})
}

// Raw bytes of a wrong length are refused with the feature's name, also where the total
// length of the batch is right (C24).
func TestRawBytesOfAWrongLength(t *testing.T) {
	testruntime.Need(t)
	const right = "\x01\x00\x02\x00"
	tests := []struct {
		name  string
		bad   []byte
		words []string
	}{
		{"odd", rawRecord(5, "\x01\x00\x02"), []string{"3 raw bytes, want 4", "int16", "no whole number"}},
		{"long", rawRecord(5, right+right), []string{"8 raw bytes, want 4"}},
		{"empty", rawRecord(5, ""), []string{"0 raw bytes, want 4"}},
		{"two strings", rawRecord(5, "\x01\x00", "\x02\x00"), []string{"2 values are stored, want 1"}},
		{"none", rawRecord(5), []string{"0 values are stored, want 1"}},
	}
	for _, test := range tests {
		for _, multiLoad := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, ", multi_load ", multiLoad), func(t *testing.T) {
				d := fixture.New(t)
				rawManifest(d)
				d.Args["multi_load"] = multiLoad
				d.WriteRecords(t, "a.tfrecords", rawRecord(0, right), rawRecord(1, right))
				d.WriteRecords(t, "b.tfrecords", rawRecord(4, right), test.bad, rawRecord(6, right))
				ids, err := read(t, d)
				checkFault(t, &fault{class: millrace.ErrSchema, words: append(test.words, "b.tfrecords", "record 1", `feature "xs"`)}, err)
				if diff := cmp.Diff([]int64{0, 1}, ids); diff != "" {
					t.Errorf("delivered (-want +got)\n%s", diff)
				}
			})
		}
	}
}

// Valid protobuf is read as protobuf reads it, in every way of parsing: of a duplicate
// feature the last one counts, the two halves of a split Example are merged, and
// unknown fields are skipped (C25, C26).
func TestOddRecordsAreRead(t *testing.T) {
	testruntime.Need(t)
	id := func(id int64) []byte { return example.Marshal([]example.Named{named("id", fixture.Ints(id))}) }
	xs := func(v ...float32) []byte { return example.Marshal([]example.Named{named("xs", fixture.Floats(v...))}) }
	tests := []struct {
		name   string
		record []byte
	}{
		{"two halves", slices.Concat(id(5), xs(5, 2.5))},
		{"a feature twice in two halves", slices.Concat(id(9), xs(5, 2.5), id(5))},
		{"a feature twice in one", example.Marshal([]example.Named{named("id", fixture.Ints(9)), named("xs", fixture.Floats(5, 2.5)), named("id", fixture.Ints(5))})},
		{"an unknown field", slices.Concat([]byte("\x9a\x06\x03abc"), fixture.Record(5))},
		{"an unknown number", slices.Concat(fixture.Record(5), []byte("\x98\x06\xff\x01"))},
	}
	for _, test := range tests {
		for _, multiLoad := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, ", multi_load ", multiLoad), func(t *testing.T) {
				d := fixture.New(t)
				d.Args["multi_load"] = multiLoad
				d.WriteRecords(t, "a.tfrecords", fixture.Record(4), test.record, fixture.Record(6))
				ids, err := read(t, d)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]int64{4, 5, 6}, ids); diff != "" {
					t.Errorf("ids (-want +got)\n%s", diff)
				}
			})
		}
	}
}

// Invalid protobuf is an error that names the record, and does nothing worse (C20,
// C26).
func TestRecordsThatAreNoProtobuf(t *testing.T) {
	testruntime.Need(t)
	tests := map[string]string{
		"a number without end": "\x0a" + strings.Repeat("\x80", 100),
		"groups in groups":     strings.Repeat("\x23", 10_000) + strings.Repeat("\x24", 10_000),
		"a group without end":  strings.Repeat("\x23", 10_000),
		"an odd wire type":     "\x0f\x00",
	}
	for name, bad := range tests {
		t.Run(name, func(t *testing.T) {
			d := fixture.New(t)
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
			badRecord([]byte(bad))(t, d)
			ids, err := read(t, d)
			if !errors.Is(err, millrace.ErrCorrupt) && !errors.Is(err, millrace.ErrSchema) || !strings.Contains(err.Error(), "b.tfrecords: record 1 ") {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff([]int64{0, 1, 2, 3}, ids); diff != "" {
				t.Errorf("delivered (-want +got)\n%s", diff)
			}
		})
	}
}

// Without the native library, a record that Go cannot parse and that could crash
// TensorFlow's parsers is refused, and the records before it are delivered.
func TestRecordThatCouldEndTheProcess(t *testing.T) {
	testruntime.Need(t)
	floats := strings.Repeat("\x0d\x00\x00\x80\x3f", 100) // unpacked, in a field that claims more bytes than there are
	for name, bad := range map[string]string{
		"a length without end":                                "\x0a\xff\xff\xff\xff\x0f",
		"a long list of floats behind a length that is wrong": "\x12\xff\x7f" + floats,
	} {
		t.Run(name, func(t *testing.T) {
			d := fixture.New(t)
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
			badRecord([]byte(bad))(t, d)
			ids, err := readPlan(t, withoutLibrary(t, d))
			if !errors.Is(err, millrace.ErrCorrupt) && !errors.Is(err, millrace.ErrSchema) || !strings.Contains(err.Error(), "b.tfrecords: record 1 ") {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(count(4), ids); diff != "" {
				t.Errorf("delivered (-want +got)\n%s", diff)
			}
		})
	}
}

// withoutLibrary returns the plan of a dataset on a machine without the native
// library.
func withoutLibrary(t *testing.T, d *fixture.Dataset) *loaders.Plan {
	t.Helper()
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	plan.NativeLibrary = ""
	return plan
}

// If a file is removed between two passes, the error names it (C44).
func TestFileIsGoneInTheSecondEpoch(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.Args["epochs"], d.Args["target_batch_size"] = 3, 1
	for i, name := range []string{"a.tfrecords", "b.tfrecords"} {
		d.WriteRecords(t, name, fixture.Records(int64(1000*i), int64(1000*i+1000))...)
	}
	d.Save(t)
	l, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rows := int64(0)
	var last error
	for b, err := range l.Batches(t.Context()) {
		if last = err; err != nil {
			break
		}
		if rows += b.Rows(); rows == 1 {
			if err := os.Remove(d.Path("b.tfrecords")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(last, millrace.ErrIO) || !errors.Is(last, fs.ErrNotExist) || !strings.Contains(last.Error(), "b.tfrecords") {
		t.Errorf("after %d rows: %v", rows, last)
	}
}

// With CheckRecords a record that does not match the manifest is found before the first
// batch (--check-records).
func TestCheckRecords(t *testing.T) {
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
	badRecord(example.Marshal([]example.Named{named("id", fixture.Ints(1))}))(t, d)
	d.Save(t)
	for check, want := range map[bool]bool{false: true, true: false} {
		plan, problems := loaders.Check(d.Config(), &loaders.CheckOptions{CheckRecords: check})
		if plan == nil {
			t.Fatal(problems)
		}
		_, err := plan.Scan(t.Context())
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), `b.tfrecords: record 1 (offset `) {
			t.Errorf("CheckRecords %v: got %v", check, err)
		}
	}
}
