package dataset_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph/dataset"
	"millrace/internal/test/graphtest"
	"millrace/tfrecord"
)

// Either the whole new file appears, or the old one stays.
func TestWriteTFRecords(t *testing.T) {
	s := graphtest.NewScope(t)
	path := filepath.Join(t.TempDir(), "a.tfrecords")
	words := dataset.FromSlices(s, s.Const([]string{"one", "", "three"}))
	if err := words.WriteTFRecords(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	read := func() (records []string) {
		t.Helper()
		r, err := tfrecord.OpenFile(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			record, err := r.Next()
			if err != nil {
				return records
			}
			records = append(records, string(record))
		}
	}
	if got := read(); !cmp.Equal(got, []string{"one", "", "three"}) {
		t.Errorf("records %q", got)
	}
	broken := words.Concatenate(dataset.TextLines(s, s.Const("nowhere"), nil))
	if err := broken.WriteTFRecords(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a dataset that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := words.WriteTFRecords(ctx, path, nil); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 || len(read()) != 3 {
		t.Errorf("afterwards there is %q with %q", left, read())
	}
	if err := words.WriteTFRecords(t.Context(), path, &dataset.SaveOptions{Compression: "GZIP"}); err != nil {
		t.Error(err)
	}
	if raw, err := os.ReadFile(path); err != nil || len(raw) < 2 || raw[0] != 0x1f || raw[1] != 0x8b {
		t.Errorf("gzip: % x, %v", raw[:min(len(raw), 4)], err)
	}
	if err := dataset.Range(s, 0, 3, 1).WriteTFRecords(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "must be one scalar string") {
		t.Errorf("numbers: %v", err)
	}
}
