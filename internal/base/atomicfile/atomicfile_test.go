package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"millrace"
)

// A file is replaced atomically, with the requested permissions.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"the first content", "another"} {
		if err := Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	only(t, filepath.Dir(path), "file")
}

// A path that is not a regular file is not replaced, opening it does not block, and no
// temporary file is left.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.Symlink(os.DevNull, filepath.Join(dir, "device"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"fifo": "not a regular file", "folder": "not a regular file", "device": "not a regular file", "missing/file": "no such file",
	} {
		path := filepath.Join(dir, name)
		err := Write(path, []byte("text"), 0o600)
		if !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), path+":") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%s: %v", name, err)
		}
	}
	only(t, dir, "device fifo folder")
}

// only checks which files a folder has.
func only(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the folder has %s, want %s", got, want)
	}
}
