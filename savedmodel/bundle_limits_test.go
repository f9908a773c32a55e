package savedmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/savedmodel/bundle"
)

// Files of variables that are not regular files, or too large to be read.
func TestOddVariableFiles(t *testing.T) {
	dir := bare(t, "linear")
	shard, index := filepath.Join(dir, oneShard), filepath.Join(dir, indexName)
	remove(t, shard)
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, oneShard, "missing")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is no fs.ErrNotExist: %v", err)
	}
	if err := os.Mkdir(shard, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, oneShard, "not a regular file")
	if err := os.Truncate(index, bundle.MaxIndexBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrLimit, indexName, fmt.Sprintf("%d bytes, at most %d are read", bundle.MaxIndexBytes+1, bundle.MaxIndexBytes))
	remove(t, index)
	if err := os.Mkdir(index, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, indexName, "not a regular file")
}

// Reading or staging a model leaves none of its files open, whether it is sound or not.
func TestFilesAreClosed(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	t.Setenv("TMPDIR", t.TempDir())
	cut := copyModel(t, "linear")
	writeFile(t, filepath.Join(cut, oneShard), nil)
	empty := bare(t, "linear")
	writeFile(t, filepath.Join(empty, indexName), nil)
	for _, dir := range []string{filepath.Join(models, "linear"), filepath.Join(models, "vocab"), cut, empty} {
		_, want := Read(dir, nil) // opens the descriptors that Go's runtime keeps
		before := open()
		m, err := Read(dir, nil)
		if (err == nil) != (want == nil) {
			t.Error(err)
		}
		if err == nil {
			s, err := m.Stage()
			if err := errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		}
		IsModel(dir)
		_, _ = ReadCheckpoint(filepath.Join(dir, variablesPrefix))
		if after := open(); after > before {
			t.Errorf("%s: %d files stay open", dir, after-before)
		}
	}
}
