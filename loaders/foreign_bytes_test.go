package loaders_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"
)

// stringFiles returns a dataset of records with two byte strings "s"; record 1 is the
// given one. Examples can also be read as SequenceExamples: the features of the Example
// are the context of the SequenceExample.
func stringFiles(t *testing.T, kind string, sequence bool, bad []byte) *fixture.Dataset {
	d := fixture.New(t)
	d.Type = kind
	d.Manifest["allow_var_len"] = sequence
	feature := fixture.Object{"name": "s", "dtype": "string", "shape": []int{2}, "deserialize_type": "string"}
	if sequence {
		feature["var_len"] = false
	}
	d.Manifest["features"] = []fixture.Object{feature}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "s", "to_name": "s"}}
	good := example.Marshal([]example.Named{{Name: "s", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte("a"), []byte("b")}}}})
	d.WriteRecords(t, "a.tfrecords", good, bad, good)
	if kind != "independent" {
		window{min: 1, max: 1, tail: "keep"}.set(d)
	}
	return d
}

// TestForeignBytesNeverReachTensorFlow gives every type of loader records that crash
// the process in TensorFlow's parsers, as the whole record and after a field that
// protobuf refuses and TensorFlow does not. The graph has none of TensorFlow's
// operations that read files, and with the native library none that parse records.
func TestForeignBytesNeverReachTensorFlow(t *testing.T) {
	testruntime.Need(t)
	huge := corrupt.HugeString("s")
	for name, bad := range map[string][]byte{
		"a string of 2^31 bytes":          huge,
		"and a field beyond the end":      slices.Concat(huge, []byte("\x9a\x06\x7fxx")),
		"and a field beyond the end, too": slices.Concat([]byte("\x9a\x06\x01x"), huge, []byte("\x9a\x06\x7fxx")),
	} {
		for _, kind := range []string{"independent", "continuous_sequence", "discrete_sequence"} {
			for _, sequence := range []bool{false, true} {
				t.Run(fmt.Sprint(kind, " ", sequence, " ", name), func(t *testing.T) {
					d := stringFiles(t, kind, sequence, bad)
					d.Save(t)
					plan := withoutLibrary(t, d)
					checkPlace(t, plan, []string{"TFRecordDataset"}, d.Path("a.tfrecords"))
					if plan, _ = loaders.Check(d.Config(), nil); plan.NativeLibrary == "" {
						t.Skip("the native library is not built")
					}
					checkPlace(t, plan, []string{"TFRecordDataset", "ParseExample", "ParseSequenceExample", "ParseSingle"}, d.Path("a.tfrecords"))
				})
			}
		}
	}
}

// checkPlace reads up to the bad record, whose place the error names, in a graph
// without some of TensorFlow's operations.
func checkPlace(t *testing.T, plan *loaders.Plan, without []string, path string) {
	t.Helper()
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := graph.NewScope()
	defer s.Graph().Close()
	if _, err := l.Pipeline(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var def bytes.Buffer
	if _, err := s.Graph().WriteTo(&def); err != nil {
		t.Fatal(err)
	}
	for _, op := range without {
		if bytes.Contains(def.Bytes(), []byte(op)) {
			t.Errorf("the graph has an operation %s", op)
		}
	}
	for _, err := range l.Batches(t.Context()) {
		if err == nil {
			continue
		}
		var e *millrace.Error
		if !errors.As(err, &e) || e.File != path || e.Record != 1 {
			t.Errorf("got %v, want an error about record 1", err)
		}
		return
	}
	t.Error("the bad record was taken")
}

// A file may be overwritten between the scan and the read, with the same size and
// modification time. Then its new contents are checked: with the native library and
// without it the bad record is an error with its place.
func TestFileIsOverwrittenAfterTheScan(t *testing.T) {
	testruntime.Need(t)
	long := example.Marshal([]example.Named{{Name: "s", Feature: example.Feature{
		Kind: example.Bytes, Bytes: [][]byte{make([]byte, 100), []byte("b")}}}})
	huge := corrupt.HugeString("s")
	padding := len(long) - len(huge) - len("\x9a\x06\x00")
	bad := slices.Concat(huge, []byte{0x9a, 0x06, byte(padding)}, make([]byte, padding)) // an unknown field
	for _, sequence := range []bool{false, true} {
		d := stringFiles(t, "independent", sequence, long)
		d.Save(t)
		for _, native := range []bool{true, false} {
			d.WriteRecords(t, "a.tfrecords", long, long, long)
			plan := withoutLibrary(t, d)
			if native {
				plan, _ = loaders.Check(d.Config(), nil)
			}
			l, err := loaders.OpenPlan(plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			path := d.Path("a.tfrecords")
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			d.WriteRecords(t, "a.tfrecords", long, bad, long)
			if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
				t.Fatal(err)
			}
			for _, e := range l.Batches(t.Context()) {
				err = e
			}
			var e *millrace.Error
			if !errors.As(err, &e) || e.File != path || e.Record != 1 {
				t.Errorf("sequence %v, native %v: got %v, want an error about record 1", sequence, native, err)
			}
			l.Close()
		}
	}
}
