package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// The files are the same on every machine, or figures could not be compared.
func TestRecordsAreTheSame(t *testing.T) {
	f := layout(t.TempDir(), 1000)
	if err := f.make(1000, 2); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(f.data, "*.tfrecords"))
	if err != nil || len(paths) != dataFiles {
		t.Fatalf("files: %v %v, want %d", paths, err, dataFiles)
	}
	sum := sha256.New()
	n := int64(0)
	for _, path := range paths {
		for r, err := range tfrecord.Records(path, nil) {
			if err != nil {
				t.Fatal(err)
			}
			sum.Write(r.Data)
			features, err := example.Parse(r.Data)
			if err != nil {
				t.Fatal(err)
			}
			x, _ := features.Get("x")
			y, _ := features.Get("y")
			if len(x.Floats) != floats || len(y.Ints) != 1 || y.Ints[0] != n {
				t.Fatalf("record %d: %d floats, number %v", n, len(x.Floats), y.Ints)
			}
			n++
		}
	}
	const want = "cce7ad6a53b7b0d6fbb569d0323dfd157c7c213ff97513843945123e73222eff"
	if got := fmt.Sprintf("%x", sum.Sum(nil)); n != 1000 || got != want {
		t.Errorf("%d records of SHA-256 %s, want 1000 of %s", n, got, want)
	}
}

// Existing files are used again.
func TestMakeOnce(t *testing.T) {
	f := layout(t.TempDir(), 10)
	if err := f.make(10, 1); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.data, "part-00000-of-00004.tfrecords")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.make(10, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("records were made again beside their manifest")
	}
}
