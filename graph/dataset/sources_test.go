package dataset_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// writeRecords writes a TFRecord file and returns its path.
func writeRecords(t testing.TB, name string, c tfrecord.Compression, records ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tfrecord.NewWriter(f, c)
	for _, r := range records {
		if err := w.Write([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTFRecords(t *testing.T) {
	tests := []struct {
		write tfrecord.Compression
		read  string
	}{
		{tfrecord.None, ""},
		{tfrecord.GZIP, "GZIP"},
		{tfrecord.ZLIB, "ZLIB"},
	}
	for _, tt := range tests {
		t.Run(tt.read, func(t *testing.T) {
			s := newScope(t)
			paths := []string{
				writeRecords(t, "a", tt.write, "one", "two"), writeRecords(t, "b", tt.write), writeRecords(t, "c", tt.write, "three"),
			}
			d := dataset.TFRecords(s, s.Const(paths), &dataset.TFRecordsOptions{Compression: tt.read, BufferBytes: 100})
			if diff := cmp.Diff([]any{"one", "two", "three"}, all(t, d)); diff != "" {
				t.Errorf("records (-want +got)\n%s", diff)
			}
			one := dataset.TFRecords(s, s.Const(paths[0]), &dataset.TFRecordsOptions{Compression: tt.read})
			if diff := cmp.Diff([]any{"one", "two"}, all(t, one)); diff != "" {
				t.Errorf("records of one file (-want +got)\n%s", diff)
			}
			unbuffered := dataset.TFRecords(s, s.Const(paths), &dataset.TFRecordsOptions{Compression: tt.read, Unbuffered: true})
			if diff := cmp.Diff([]any{"one", "two", "three"}, all(t, unbuffered)); diff != "" {
				t.Errorf("unbuffered (-want +got)\n%s", diff)
			}
		})
	}
}

func TestUnknownCompression(t *testing.T) {
	s := newScope(t)
	dataset.TFRecords(s, s.Const("x"), &dataset.TFRecordsOptions{Compression: "gzip"})
	if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `unknown compression "gzip"`) {
		t.Errorf("error %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	s := newScope(t)
	_, err := tryAll(t, dataset.TFRecords(s, s.Const("/nowhere/x"), nil))
	if !errors.Is(err, tfbridge.NotFound) || !errors.Is(err, millrace.ErrIO) {
		t.Errorf("error %v", err)
	}
}

func TestFromTensors(t *testing.T) {
	s := newScope(t)
	d := dataset.FromTensors(s, s.Const([]int32{1, 2}), s.Const("x"))
	if diff := cmp.Diff([]any{[]any{[]int32{1, 2}, "x"}}, all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	checkSpecs(t, d, "int32[2]", "string[]")
}

func TestFromSlices(t *testing.T) {
	s := newScope(t)
	d := dataset.FromSlices(s, s.Const([][]int32{{1, 2}, {3, 4}}), s.Const([]string{"x", "y"}))
	want := []any{[]any{[]int32{1, 2}, "x"}, []any{[]int32{3, 4}, "y"}}
	if diff := cmp.Diff(want, all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	checkSpecs(t, d, "int32[2]", "string[]")
	if d := dataset.FromSlices(s, s.Const("scalar")); s.Err() == nil || d.Variant().Op != nil {
		t.Error("a scalar was sliced")
	}
}

func TestRange(t *testing.T) {
	s := newScope(t)
	if diff := cmp.Diff(values(3, 1), all(t, dataset.Range(s, 3, -1, -2))); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	if dataset.Range(s, 0, 1, 0); s.Err() == nil {
		t.Error("step 0 was accepted")
	}
}

// checkSpecs compares the specs of a dataset's components.
func checkSpecs(t testing.TB, d *dataset.Dataset, want ...string) {
	t.Helper()
	got := []string{}
	for _, p := range d.Specs() {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("specs (-want +got)\n%s", diff)
	}
}

// double maps an int64 to twice itself.
func double(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	return outs{graph.Add(s, args[0], args[0])}
}

func TestCutFiles(t *testing.T) {
	// TensorFlow does not notice that a file is cut between records, or in the header
	// of one. The number of records, captured for each file, shows it. Our own reader
	// notices a cut header by itself.
	path := writeRecords(t, "a", tfrecord.None, "one", "two", "three")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second := len(data) - (16 + len("three"))
	for cut, name := range map[int]string{0: "all", 1: "header", second: "between", second + 11: "next header", len(data): "whole"} {
		for _, foreign := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/tensorflow=%v", name, foreign), func(t *testing.T) {
				if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
					t.Fatal(err)
				}
				s := newScope(t)
				files := dataset.FromSlices(s, s.Const([]string{path, path}), s.Const([]int64{3, 3}))
				d := files.Interleave("records", func(s *graph.Scope, args outs) *dataset.Dataset {
					return dataset.TFRecords(s, args[0], &dataset.TFRecordsOptions{TensorFlow: foreign}).AssertCardinality(args[1])
				}, &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2})
				got, err := tryAll(t, d)
				seen := errors.Is(err, tfbridge.FailedPrecondition) || !foreign && errors.Is(err, millrace.ErrTruncated)
				switch {
				case cut < len(data) && !seen:
					t.Errorf("error after %d records: %v", len(got), err)
				case cut == len(data) && (err != nil || len(got) != 6):
					t.Errorf("%d records of a whole file, error %v", len(got), err)
				}
			})
		}
	}
}

// TensorFlow's reader does not report the location of a damaged record. All finds it.
func TestDamagedRecordIsNamed(t *testing.T) {
	good := writeRecords(t, "good", tfrecord.GZIP, "one", "two")
	bad := writeRecords(t, "bad", tfrecord.None, "one", "two", "three")
	data, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	second := 16 + len("one")
	data[second+12] ^= 1
	if err := os.WriteFile(bad, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScope(t)
	foreign := &dataset.TFRecordsOptions{TensorFlow: true}
	whole := dataset.TFRecords(s, s.Const(good), &dataset.TFRecordsOptions{TensorFlow: true, Compression: "GZIP"})
	d := whole.Concatenate(dataset.TFRecords(s, s.Const([]string{bad}), foreign))
	got, err := dataset.ToSlice[string](t.Context(), d, nil)
	if !slices.Equal(got, []string{"one", "two", "one"}) {
		t.Errorf("got %q", got)
	}
	var e *millrace.Error
	if !errors.Is(err, millrace.ErrCorrupt) || !errors.Is(err, tfbridge.DataLoss) || !errors.As(err, &e) ||
		e.Op != "read" || e.File != bad || e.Record != 1 || e.Offset != int64(second) {
		t.Errorf("got %v", err)
	}
	fed := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	name, err := tfbridge.NewTensor(bad)
	if err != nil {
		t.Fatal(err)
	}
	defer name.Close()
	feeds := &dataset.IterateOptions{Feeds: map[tfbridge.Output]*tfbridge.Tensor{fed: name}}
	_, err = dataset.ToSlice[string](t.Context(), dataset.TFRecords(s, fed, foreign), feeds)
	if !errors.Is(err, tfbridge.DataLoss) {
		t.Errorf("a name that is fed: %v", err)
	}
}
