package run

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/loaders/plan"
	"millrace/tfrecord"
)

// sequences changes a dataset to sequences of one number and another loader type.
func sequences(kind string, args fixture.Object) func(*fixture.Dataset) {
	return func(d *fixture.Dataset) {
		d.Type = kind
		d.Manifest["features"] = []fixture.Object{{"name": "xs", "dtype": "float32", "shape": []int{-1}, "deserialize_type": "float"}}
		d.Args["primary_features"] = []fixture.Object{{"from_name": "xs", "to_name": "xs"}}
		maps.Copy(d.Args, args)
		if kind == "chunked_sequence" {
			delete(d.Args, "drop_remainder")
			delete(d.Args, "target_batch_size")
			d.Args["batch_size"] = 10 // frames
		}
	}
}

// TensorFlow reports every end as the end of the data. The expected number of rows, and
// unchanged files, decide whether it is.
func TestEndOfTheData(t *testing.T) {
	windows := sequences("discrete_sequence", fixture.Object{"min_window": 3, "max_window": 3})
	noWindow := sequences("discrete_sequence", fixture.Object{"min_window": 6, "max_window": 6})
	chunks := sequences("chunked_sequence", fixture.Object{"chunk_size": 2, "chunk_step": 2})
	noChunk := sequences("chunked_sequence", fixture.Object{"chunk_size": 9, "chunk_step": 9, "tail": "drop"})
	replaced := func(t *testing.T, d *fixture.Dataset, _ *Pipeline) {
		d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 6)...)
	}
	bad := func(t *testing.T, d *fixture.Dataset, _ *Pipeline) {
		d.WriteRecords(t, "a.tfrecords", fixture.Record(0), nil, fixture.Record(2))
	}
	uncounted := func(_ *testing.T, _ *fixture.Dataset, pl *Pipeline) {
		pl.Scan = &plan.Scan{Indexes: make([]*tfrecord.Index, 1)}
	}
	tests := []struct {
		name   string
		config func(*fixture.Dataset)
		change func(*testing.T, *fixture.Dataset, *Pipeline)
		rows   int64
		class  millrace.Class // "": the data have ended
		words  string
	}{
		{"all rows", nil, nil, 5, "", ""},
		{"too few rows", nil, nil, 3, millrace.ErrTruncated, "the data ended after 3 of 5 examples"},
		{"a bad record", nil, bad, 3, millrace.ErrSchema, "record 1"},
		{"another file", nil, replaced, 5, millrace.ErrIO, "a.tfrecords"},
		{"nobody knows how many", nil, uncounted, 3, "", ""},
		{"no end", func(d *fixture.Dataset) { d.Args["epochs"] = nil }, nil, 5, millrace.ErrSchema, "args.epochs"},
		{"windows", windows, nil, 1, "", ""},
		{"no window", noWindow, nil, 0, millrace.ErrSchema, "6 records; the longest has 5"},
		{"all windows dropped", windows, nil, 0, "", ""},
		{"some of another size", noWindow, nil, 1, "", ""},
		{"windows of another file", windows, replaced, 0, millrace.ErrIO, "a.tfrecords"},
		{"chunks", chunks, nil, 5, "", ""},
		{"no chunk", noChunk, nil, 0, millrace.ErrSchema, "no sequence has 9 frames"},
		{"a chunk after all", noChunk, nil, 1, "", ""},
		{"chunks that nobody counts", chunks, uncounted, 0, millrace.ErrSchema, "no chunk: no sequence has a frame"},
		{"some that nobody counts", chunks, uncounted, 1, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := records(t, 5)
			if tt.config != nil {
				tt.config(d)
			}
			pl := scanned(t, d)
			if tt.change != nil {
				tt.change(t, d, pl)
			}
			err := pl.verifyEnd(t.Context(), tt.rows)
			if tt.class == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != tt.class || !strings.Contains(err.Error(), tt.words) {
				t.Fatalf("got %v, want class %v and %q", err, tt.class, tt.words)
			}
			if tt.class != millrace.ErrIO && e.Loader != d.Config() {
				t.Errorf("%v names the config %q", err, e.Loader)
			}
		})
	}
}

// A file that was truncated between two records during the read has as few records as
// were read, so only the file's size shows the fault.
func TestCutFile(t *testing.T) {
	d := records(t, 5)
	pl := scanned(t, d)
	d.Write(t, "a.tfrecords", corrupt.Frame(fixture.Records(0, 3)...))
	if err := pl.verifyEnd(t.Context(), 3); !errors.Is(err, millrace.ErrTruncated) {
		t.Errorf("got %v", err)
	}
}
