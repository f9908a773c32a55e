package loaders_test

import (
	"bytes"
	"errors"
	"fmt"
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

// stringFiles returns a dataset of records with two byte strings "s", of which
// record 1 is the one given. Examples are read as SequenceExamples just as well:
// the features of the one are the context of the other.
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

// TestForeignBytesNeverReachTensorFlow gives every type of loader records that
// end the process in TensorFlow's parsers, alone and behind a field that
// protobuf refuses and TensorFlow does not. The graph has none of TensorFlow's
// operations that read files or parse records.
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
					l, err := loaders.Open(d.Config(), nil)
					if err != nil {
						t.Fatal(err)
					}
					defer l.Close()
					if l.Plan().NativeLibrary == "" {
						t.Skip("the native library is not built")
					}
					checkOperations(t, l)
					checkPlace(t, l, d.Path("a.tfrecords"))
				})
			}
		}
	}
}

// checkOperations looks for operations of TensorFlow that no byte of a file
// should reach.
func checkOperations(t *testing.T, l *loaders.Loader) {
	t.Helper()
	s := graph.NewScope()
	defer s.Graph().Close()
	if _, err := l.Pipeline(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var def bytes.Buffer
	if _, err := s.Graph().WriteTo(&def); err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"TFRecordDataset", "ParseExample", "ParseSequenceExample", "ParseSingle"} {
		if bytes.Contains(def.Bytes(), []byte(op)) {
			t.Errorf("the graph has an operation %s", op)
		}
	}
}

// checkPlace reads to the bad record, whose place the error names.
func checkPlace(t *testing.T, l *loaders.Loader, path string) {
	t.Helper()
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
