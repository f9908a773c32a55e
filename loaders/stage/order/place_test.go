package order

import (
	"testing"

	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// Rows are traced to the records of files, over the ends of files and of epochs,
// where their order is that of the files.
func TestPlace(t *testing.T) {
	files := []spec.DataFile{{Path: "/a"}, {Path: "/none"}, {Path: "/b"}}
	found := &scan.Scan{Indexes: []*tfrecord.Index{{Records: 5}, {}, {Records: 3}}}
	tests := []struct {
		name        string
		spec        spec.Spec
		first, rows int64
		want        string
	}{
		{"in a file", spec.Spec{}, 1, 3, "/a records 1 to 3"},
		{"in two files", spec.Spec{}, 4, 2, "/a records 4 to 4, /b records 0 to 0"},
		{"in the third epoch", spec.Spec{}, 16 + 7, 3, "/b records 2 to 2, /a records 0 to 1"},
		{"over several epochs", spec.Spec{}, 0, 100,
			"/a records 0 to 4, /b records 0 to 2, /a records 0 to 4, /b records 0 to 2 and more files"},
		{"shuffled", spec.Spec{Shuffle: &spec.Shuffle{}}, 1, 3, ""},
		{"buckets", spec.Spec{Bucket: &spec.Bucket{}}, 1, 3, ""},
	}
	for _, tt := range tests {
		tt.spec.Files = files

		if got := Place(&tt.spec, found, tt.first, tt.rows); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		found := &scan.Scan{Indexes: []*tfrecord.Index{nil, nil, nil}}
		if got := Place(&tt.spec, found, tt.first, tt.rows); got != "" {
			t.Errorf("%s of files that were not counted: %q", tt.name, got)
		}
	}
}
