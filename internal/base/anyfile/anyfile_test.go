package anyfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"millrace/internal/base/anyfile"
	"millrace/internal/base/regularfile"
)

// A file is read, measured, listed and removed, and a missing one is fs.ErrNotExist. Objects are tested
// where runs and outputs are in stores.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := anyfile.ReadFile(path, 4); string(text) != "text" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	var large *regularfile.LimitError
	if _, err := anyfile.ReadFile(path, 3); !errors.As(err, &large) {
		t.Errorf("more than the limit: %v", err)
	}
	if n, err := anyfile.Size(path); n != 4 || err != nil {
		t.Errorf("size %d, %v", n, err)
	}
	if names, err := anyfile.Names(dir); !slices.Equal(names, []string{"a"}) || err != nil {
		t.Errorf("names %q, %v", names, err)
	}
	for range 2 { // the second time nothing is there
		if err := anyfile.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := anyfile.Size(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the removal: %v", err)
	}
	if _, err := anyfile.Names(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}
