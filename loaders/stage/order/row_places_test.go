package order

import (
	"errors"
	"testing"

	"millrace"
	"millrace/loaders/engine"
	"millrace/loaders/loadertype"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// A config that hides which record a row is says by which key. All others do not.
func TestCheckPlaces(t *testing.T) {
	list := []*spec.Feature{{VarLen: true}}
	window := func(unit spec.Unit, most int64) *spec.Window { return &spec.Window{Unit: unit, Min: 2, Max: most} }
	tests := []struct {
		name string
		spec spec.Spec
		key  string // "": the places are known
	}{
		{"in order", spec.Spec{}, ""},
		{"by place", spec.Spec{Records: &spec.RecordOrder{}, BadRecords: &spec.BadRecords{}}, ""},
		{"bad records", spec.Spec{BadRecords: &spec.BadRecords{}}, ""},
		{"buffers", spec.Spec{Shuffle: &spec.Shuffle{}}, ""},
		{"buffers, bad records", spec.Spec{Shuffle: &spec.Shuffle{}, BadRecords: &spec.BadRecords{}}, "args.bad_records"},
		{"sloppy", spec.Spec{Shuffle: &spec.Shuffle{}, Sloppy: true}, "args.sloppy_interleave"},
		{"buckets", spec.Spec{Bucket: &spec.Bucket{}, Manifest: &spec.Manifest{}}, ""},
		{"buckets of compressed files", spec.Spec{Bucket: &spec.Bucket{}, Manifest: &spec.Manifest{Compression: tfrecord.GZIP}}, "args.bucket_by_length"},
		{"buckets by place", spec.Spec{Bucket: &spec.Bucket{}, Manifest: &spec.Manifest{}, Records: &spec.RecordOrder{}}, ""},
		{"buckets of windows", spec.Spec{Bucket: &spec.Bucket{}, Window: window(spec.Positions, 2)}, "args.bucket_by_length"},
		{"buckets, bad records", spec.Spec{Bucket: &spec.Bucket{}, BadRecords: &spec.BadRecords{}}, "args.bad_records"},
		{"sloppy buckets", spec.Spec{Bucket: &spec.Bucket{}, Sloppy: true}, "args.sloppy_interleave"},
		{"chunks", spec.Spec{Chunks: &spec.Chunks{}}, "args.with_seq_tag"},
		{"a stage of the type", spec.Spec{Special: struct{ loadertype.Stage }{}}, "args.primary_features"},
		{"remote", spec.Spec{Files: []spec.DataFile{{Path: "gs://a/b", Remote: true}}}, "args.dataset"},
		{"windows", spec.Spec{Window: window(spec.Positions, 2)}, ""},
		{"windows of records with lists", spec.Spec{Window: window(spec.Records, 2), Features: list}, ""},
		{"windows of lists", spec.Spec{Window: window(spec.Positions, 2), Features: list}, "args.primary_features"},
		{"shuffled windows of lists", spec.Spec{Shuffle: &spec.Shuffle{}, Window: window(spec.Positions, 2), Features: list}, "args.primary_features"},
		{"windows of several sizes", spec.Spec{Window: window(spec.Records, 3)}, "args.min_window"},
		{"windows, bad records", spec.Spec{Window: window(spec.Records, 2), BadRecords: &spec.BadRecords{}}, "args.bad_records"},
	}
	for _, tt := range tests {
		err := CheckPlaces(engine.Choice{Spec: &tt.spec})
		var e *millrace.Error
		switch {
		case tt.key == "":
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		case !errors.As(err, &e) || e.Key != tt.key || e.Class != millrace.ErrConfig:
			t.Errorf("%s: got %v, want key %s", tt.name, err, tt.key)
		}
	}
}
