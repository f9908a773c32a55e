package plan_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// A file whose index fits it is not scanned, so the scan does not find damage outside
// of the sampled headers; the reader does.
func TestScanByIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tfrecords")
	records := corrupt.Frame(corrupt.Examples(100)...)
	if err := os.WriteFile(path, records, 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p := plan.New(&spec.Spec{Manifest: &spec.Manifest{}, Type: spec.Independent, Epochs: 1, BatchSize: 4, Files: []spec.DataFile{{Path: path}}}, nil)
	rewrite := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	damaged := corrupt.Frame(corrupt.Examples(100)...)
	layout, err := tfrecord.ScanAll(t.Context(), []string{path}, &tfrecord.ScanAllOptions{Layout: true})
	if err != nil {
		t.Fatal(err)
	}
	damaged[layout[0].Layout.Offset(2)] ^= 1

	rewrite(damaged)
	if _, err := p.Scan(t.Context()); !errors.Is(err, millrace.ErrCorrupt) {
		t.Errorf("without an index: %v", err)
	}
	rewrite(records)
	if _, err := index.Scan(t.Context(), []string{path}, &index.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	rewrite(damaged)
	scan, err := p.Scan(t.Context())
	if err != nil || scan.Count(0) != 100 || len(scan.Warnings) != 0 {
		t.Errorf("with an index: %+v, %v", scan, err)
	}
	if err := check.FindBadRecord(t.Context(), p.Spec); !errors.Is(err, millrace.ErrCorrupt) {
		t.Errorf("reading: %v", err)
	}
	rewrite(records[:layout[0].Layout.Offset(99)])
	scan, err = p.Scan(t.Context())
	if err != nil || scan.Count(0) != 99 || len(scan.Warnings) != 1 || !strings.Contains(scan.Warnings[0].Error(), "which now has") {
		t.Errorf("cut: %+v, %v", scan, err)
	}
}
