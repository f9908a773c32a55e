package scratch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files and links with names like stale folders stay.
func TestKeepsOtherThings(t *testing.T) {
	temp, other := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-2 * StaleAfter)
	file, link := filepath.Join(temp, Prefix+"file"), filepath.Join(temp, Prefix+"link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, other} {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	removeUnlocked(link, nil)
	made, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link, other, made.Path} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if err := made.Close(); err != nil || isThere(made.Path) {
		t.Errorf("closed: %v, is there: %v", err, isThere(made.Path))
	}
	// Another folder that has replaced the checked one.
	info, err := os.Lstat(temp)
	if err != nil {
		t.Fatal(err)
	}
	if removeUnlocked(other, info); !isThere(other) {
		t.Error("another folder is removed")
	}
	if info, err = os.Lstat(other); err != nil {
		t.Fatal(err)
	}
	if removeUnlocked(other, info); isThere(other) {
		t.Error("the folder is not removed")
	}
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
