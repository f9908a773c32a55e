package loaders_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// fault is one kind of fault in data, and the words that its message must have.
type fault struct {
	name   string
	change func(t *testing.T, d *fixture.Dataset) // changes the files; a.tfrecords holds ids 0 to 3 before
	class  millrace.Class
	words  []string // words of the message
	before []int64  // ids that are still delivered
}

func named(name string, f example.Feature) example.Named {
	return example.Named{Name: name, Feature: f}
}

// badRecord writes b.tfrecords with one good and one bad record.
func badRecord(bad []byte) func(*testing.T, *fixture.Dataset) {
	return func(t *testing.T, d *fixture.Dataset) {
		d.WriteRecords(t, "b.tfrecords", fixture.Record(4), bad, fixture.Record(6))
	}
}

var recordFaults = []fault{
	{"C19 empty record", badRecord(nil), millrace.ErrSchema,
		[]string{"b.tfrecords", "record 1", "empty record"}, []int64{0, 1, 2, 3}},
	{"C20 no proto", badRecord([]byte("\xff\xfe\x00garbage\x1b[31m")), millrace.ErrCorrupt,
		[]string{"b.tfrecords", "record 1", "not an Example"}, []int64{0, 1, 2, 3}},
	{"C21 missing feature", badRecord(example.Marshal([]example.Named{named("id", fixture.Ints(5))})), millrace.ErrSchema,
		[]string{"b.tfrecords", "record 1", `feature "xs"`, "no such feature"}, []int64{0, 1, 2, 3}},
	{"C22 other kind", badRecord(example.Marshal([]example.Named{named("id", fixture.Floats(5)), named("xs", fixture.Floats(1, 2))})), millrace.ErrSchema,
		[]string{"b.tfrecords", "record 1", `feature "id"`, "float list", "int64 list"}, []int64{0, 1, 2, 3}},
	{"C23 too many values", badRecord(example.Marshal([]example.Named{named("id", fixture.Ints(5)), named("xs", fixture.Floats(1, 2, 3))})), millrace.ErrSchema,
		[]string{"b.tfrecords", "record 1", `feature "xs"`, "3 values", "want 2"}, []int64{0, 1, 2, 3}},
	{"C23 too few values", badRecord(example.Marshal([]example.Named{named("id", fixture.Ints(5)), named("xs", fixture.Floats(1))})), millrace.ErrSchema,
		[]string{"b.tfrecords", "record 1", `feature "xs"`, "1 value", "want 2"}, []int64{0, 1, 2, 3}},
	{"C27 other form", badRecord(example.MarshalSequence([]example.Named{named("id", fixture.Ints(5))},
		[]example.NamedList{{Name: "xs", Features: []example.Feature{fixture.Floats(1, 2)}}})), millrace.ErrSchema,
		[]string{"b.tfrecords", "record 1", `feature "xs"`, "SequenceExample", "allow_var_len"}, []int64{0, 1, 2, 3}},
}

// The same fault is found, and the same batches come before it, whether records are
// parsed one batch at a time or several batches at a time.
func TestRecordFaults(t *testing.T) {
	testruntime.Need(t)
	for _, f := range recordFaults {
		t.Run(f.name, func(t *testing.T) {
			d := fixture.New(t)
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
			f.change(t, d)
			ids, err := read(t, d)
			checkFault(t, &f, err)
			if diff := cmp.Diff(f.before, ids); diff != "" {
				t.Errorf("delivered (-want +got)\n%s", diff)
			}
		})
	}
}

func checkFault(t *testing.T, f *fault, err error) {
	t.Helper()
	if !errors.Is(err, f.class) {
		t.Fatalf("got %v, want class %q", err, f.class)
	}
	for _, w := range f.words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.ContainsAny(err.Error(), "\x00\x1b\n\r") || len(err.Error()) > 1000 {
		t.Errorf("foreign bytes or no end in the message %q", err)
	}
}

// Every damaged file is refused by name before TensorFlow opens it, or at the latest an
// error when its records are read. None is read as a shorter file.
func TestDamagedFiles(t *testing.T) {
	testruntime.Need(t)
	inRecord := map[string]millrace.Class{"C19": millrace.ErrSchema, "C20": millrace.ErrCorrupt}
	for _, c := range corrupt.Cases() {
		t.Run(c.Row+" "+c.Name, func(t *testing.T) {
			d := fixture.New(t)
			setCompression(d, c.Compression)
			d.Manifest["features"] = []fixture.Object{{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"}}
			d.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}}
			d.Write(t, "a.tfrecords", c.Data)
			ids, err := read(t, d)
			want := c.Class
			if class, ok := inRecord[c.Row]; ok && want == "" {
				want = class // the file is whole, but a record in it does not match the manifest
			}
			if want == "" {
				if err != nil || int64(len(ids)) != c.Good {
					t.Fatalf("got %d records and %v, want %d", len(ids), err, c.Good)
				}
				return
			}
			if !errors.Is(err, want) || !strings.Contains(err.Error(), "a.tfrecords") || !strings.Contains(err.Error(), c.Text) {
				t.Fatalf("got %v, want class %q naming the file and %q", err, want, c.Text)
			}
		})
	}
}

// Records that would crash the process are refused when the dataset is opened.
func TestRecordsThatKillTensorFlow(t *testing.T) {
	testruntime.Need(t)
	tests := []struct {
		name    string
		feature fixture.Object
		record  []byte
	}{
		{"a string of 2^31 bytes", fixture.Object{"name": "s", "dtype": "string", "shape": []int{}, "deserialize_type": "string"}, corrupt.HugeString("s")},
		{"unpacked floats without room", fixture.Object{"name": "vals", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"}, corrupt.Unpacked(1, 2_000_000)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := fixture.New(t)
			d.Manifest["features"] = []fixture.Object{test.feature}
			name := test.feature["name"].(string)
			d.Args["primary_features"] = []fixture.Object{{"from_name": name, "to_name": name}}
			d.WriteRecords(t, "a.tfrecords", test.record)
			_, err := read(t, d)
			var e *millrace.Error
			if !errors.As(err, &e) || e.Record != 0 || e.Feature != name || filepath.Base(e.File) != "a.tfrecords" {
				t.Fatalf("got %v, want the record and the feature", err)
			}
		})
	}
}

func setCompression(d *fixture.Dataset, c string) {
	if c != "" {
		d.Manifest["compression"] = c
	}
}

func TestFileChangesWhileItIsRead(t *testing.T) {
	testruntime.Need(t)
	changes := map[string]func(path string) error{
		"shorter": func(path string) error {
			return os.Truncate(path, int64(len(corrupt.Frame(fixture.Records(0, 3000)...))))
		},
		"gone": os.Remove,
		"replaced": func(path string) error {
			if err := os.WriteFile(path+"~", corrupt.Frame(fixture.Records(0, 4000)...), 0o666); err != nil {
				return err
			}
			return os.Rename(path+"~", path)
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			d := fixture.New(t)
			d.Args["epochs"] = 2 // the second pass opens the file again
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5000)...)
			d.Save(t)
			l, err := loaders.Open(d.Config(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := change(d.Path("a.tfrecords")); err != nil {
				t.Fatal(err)
			}
			var last error
			for _, err := range l.Batches(t.Context()) {
				last = err
			}
			if last == nil || !strings.Contains(last.Error(), "a.tfrecords") {
				t.Fatalf("got %v, want an error that names the file", last)
			}
		})
	}
}

func TestDuplicateFilesAreReadTwiceWithAWarning(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 2)...)
	list := d.Dir + "/files.txt"
	if err := os.WriteFile(list, []byte(d.Path("a.tfrecords")+"\n"+d.Path("a.tfrecords")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	d.Args["dataset"] = fixture.Object{"type": "list", "args": fixture.Object{"manifest_file": d.Data() + "/__manifest__.json", "list_file": list}}
	ids, err := read(t, d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{0, 1, 0, 1}, ids); diff != "" {
		t.Errorf("ids (-want +got)\n%s", diff)
	}
	plan, _ := loaders.Check(d.Config(), nil)
	if len(plan.Warnings) == 0 {
		t.Error("no warning")
	}
}

// read opens a dataset and reads it to its end, with our own operations, where they are
// built, and without them. It returns the delivered ids and the final error, which must
// be the same.
func read(t *testing.T, d *fixture.Dataset) (ids []int64, err error) {
	t.Helper()
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		return nil, problems
	}
	ids, err = readPlan(t, plan)
	if plan.NativeLibrary == "" {
		return ids, err
	}
	plan.NativeLibrary = ""
	general, generalErr := readPlan(t, plan)
	if diff := cmp.Diff(ids, general); diff != "" {
		t.Errorf("delivered (-native +general)\n%s", diff)
	}
	if fmt.Sprint(err) != fmt.Sprint(generalErr) {
		t.Errorf("native: %v\ngeneral: %v", err, generalErr)
	}
	return ids, err
}

func readPlan(t *testing.T, plan *loaders.Plan) (ids []int64, err error) {
	t.Helper()
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, column[int64](t, b, "id")...)
	}
	return ids, nil
}
