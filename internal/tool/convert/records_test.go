package convert

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/tfrecord"
)

// TestRecords cuts a dataset into other shards with another compression, and back: the
// records and the manifest are the same.
func TestRecords(t *testing.T) {
	first, want := converted(t, "testdata/arrays.npz")
	packed := filepath.Join(t.TempDir(), "packed")
	report, err := Run(t.Context(), []string{first}, packed, &Options{Shards: 2, Compression: tfrecord.GZIP})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Shards) != 2 || report.Rows != 3 || len(report.Columns) != 12 || report.Format != "TFRecords" {
		t.Errorf("report %+v", report)
	}
	if text, err := os.ReadFile(filepath.Join(packed, "__manifest__.json")); err != nil || !bytes.Contains(text, []byte(`"compression": "gzip"`)) {
		t.Errorf("%v: manifest %s", err, text)
	}
	back, got := converted(t, packed)
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for _, name := range []string{"__manifest__.json", "part-00000.tfrecords"} {
		a, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(back, name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: not the bytes that it had (%v)", name, err)
		}
	}
}

// TestRecordFaults converts TFRecords without a manifest, with two, and damaged ones.
func TestRecordFaults(t *testing.T) {
	first, _ := converted(t, "testdata/arrays.npz")
	other, _ := converted(t, writeZip(t, "x.npy", npy("'|u1'", "2,", "ab")))
	loose := filepath.Join(t.TempDir(), "loose.tfrecords")
	b, err := os.ReadFile(filepath.Join(first, "part-00000.tfrecords"))
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(loose, b, 0o644); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(first, "__manifest__.json")
	for _, tt := range []struct {
		name, manifest, want string
		inputs               []string
	}{
		{"no manifest", "", "no __manifest__.json is in its folder or above; name one with --manifest", []string{loose}},
		{"two kinds", "", "describes other records than", []string{first, other}},
		{"damaged", manifest, "record 2", []string{loose}},
	} {
		_, err := Run(t.Context(), tt.inputs, filepath.Join(t.TempDir(), "out"), &Options{Manifest: tt.manifest})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s in it", tt.name, err, tt.want)
		}
	}
}
