package plan_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// A file without records is accepted, unless the config refuses it: then the error
// names the first such file.
func TestEmptyFiles(t *testing.T) {
	dir := t.TempDir()
	files := []spec.DataFile{{Path: filepath.Join(dir, "a")}, {Path: filepath.Join(dir, "b")}, {Path: filepath.Join(dir, "c")}}
	for i, content := range [][]byte{corrupt.Gzip(corrupt.Frame([]byte("x"))), corrupt.Gzip(nil), nil} {
		if err := os.WriteFile(files[i].Path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := plan.New(&spec.Spec{Manifest: &spec.Manifest{Compression: tfrecord.GZIP}, Type: spec.Independent, Epochs: 1, BatchSize: 1, Files: files}, nil)
	if scan, err := p.Scan(t.Context()); err != nil || scan.Count(1) != 0 || scan.Count(2) != 0 {
		t.Errorf("allowed: %+v, %v", scan, err)
	}
	p.RefuseEmpty = true
	_, err := p.Scan(t.Context())
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class != millrace.ErrSchema || e.File != files[1].Path {
		t.Errorf("refused: %v", err)
	}
}
