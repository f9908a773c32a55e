package run

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/tfbridge"
)

// The error for a failure of TensorFlow names the record that caused it, if one did.
// The place comes from our own operations, or from a strict reading of the files.
func TestFailuresFindTheirPlace(t *testing.T) {
	const code = tfbridge.InvalidArgument
	failed := &tfbridge.Error{Func: "TF_SessionRun", Code: code, Msg: "nothing that helps"}
	from := func(file string) error { // writes the error as our own operations do
		return &millrace.Error{Class: millrace.ErrCorrupt, File: file, Record: 1, Offset: -1, Code: int(tfbridge.DataLoss), Err: failed}
	}
	files := map[string]string{"good": "", "bad": "", "replaced": ""}
	pipelines := map[string]*Pipeline{}
	for name := range files {
		d := records(t, 3)
		pipelines[name], files[name] = scanned(t, d), d.Path("a.tfrecords")
		switch name {
		case "bad":
			d.WriteRecords(t, "a.tfrecords", fixture.Record(0), nil, fixture.Record(2))
			scan, err := pipelines[name].Plan.Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pipelines[name].Scan = scan
		case "replaced":
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 9)...)
		}
	}
	tests := []struct {
		name, files string
		err         error
		class       millrace.Class
		code        tfbridge.Code
		file        bool // named
		words       string
	}{
		{"no place in good files", "good", failed, millrace.ErrSchema, code, false, "nothing that helps"},
		{"no place in bad files", "bad", failed, millrace.ErrSchema, code, true, "empty record"},
		{"no place in replaced files", "replaced", failed, millrace.ErrIO, 0, true, "a.tfrecords"},
		{"a place in good files", "good", from(files["good"]), millrace.ErrCorrupt, tfbridge.DataLoss, true, "record 1"},
		{"a place in bad files", "bad", from(files["bad"]), millrace.ErrSchema, code, true, "empty record"},
		{"a place in replaced files", "replaced", from(files["replaced"]), millrace.ErrIO, code, true, "a.tfrecords"},
		{"a place that is no file", "bad", from(""), millrace.ErrSchema, code, true, "empty record"},
		{"fewer records than counted", "good", &tfbridge.Error{Code: tfbridge.FailedPrecondition}, millrace.ErrTruncated, tfbridge.FailedPrecondition, false, "failed precondition"},
		{"shapes that differ", "good", &tfbridge.Error{Code: code, Msg: "different shapes in component 1. First element had shape [3] and element 1 had shape [4]"},
			millrace.ErrSchema, code, false, "[3] and [4]; set args.padding"},
		{"a place elsewhere", "good", from("gs://x\x1b"), millrace.ErrCorrupt, tfbridge.DataLoss, false, "gs://x"},
	}
	for _, tt := range tests {
		pl := pipelines[tt.files]
		err := pl.explain(t.Context(), tt.err)
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != tt.class || e.Code != int(tt.code) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: got %v of code %d, want class %v, code %d and %q", tt.name, err, e.Code, tt.class, tt.code, tt.words)
			continue
		}
		if tt.file && e.File != files[tt.files] || tt.class != millrace.ErrIO && e.Loader != pl.Plan.Path || strings.Contains(e.File, "\x1b") {
			t.Errorf("%s: file %q, config %q", tt.name, e.File, e.Loader)
		}
	}
	if given := from(files["good"]).(*millrace.Error); given.Loader != "" {
		t.Errorf("the error that was given names %q now", given.Loader)
	}
	other := errors.New("closed")
	if err := pipelines["bad"].explain(t.Context(), other); err != other {
		t.Errorf("no failure of TensorFlow's: %v", err)
	}
}

// If TensorFlow cannot read remote files, the error names them.
func TestFailuresOfRemoteFiles(t *testing.T) {
	pl := scanned(t, records(t, 1))
	file := &pl.Plan.Files[0]
	file.Path, file.Remote = "gs://x", true
	pl.Scan.Indexes[0] = nil
	for code, want := range map[tfbridge.Code]millrace.Class{
		tfbridge.Unavailable: millrace.ErrIO, tfbridge.FailedPrecondition: millrace.ErrIO, tfbridge.DataLoss: millrace.ErrCorrupt,
	} {
		var e *millrace.Error
		err := pl.explain(t.Context(), &tfbridge.Error{Code: code, Msg: "words"})
		if !errors.As(err, &e) || e.Class != want || e.File != "gs://x" || e.Code != int(code) || !errors.Is(err, code) {
			t.Errorf("%v: got %v", code, err)
		}
	}
}
