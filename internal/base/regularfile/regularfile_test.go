package regularfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/internal/test/special"
)

// Open never blocks, even if the path refers to another file by the time it is opened.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, stat, open, what string
	}{
		{"a file", file, file, ""},
		{"a folder", dir, dir, "a directory"},
		{"a pipe", pipe, pipe, "a FIFO"},
		{"a pipe in the place of a file", file, pipe, "a FIFO"},
		{"a device", os.DevNull, os.DevNull, "a device"},
	}
	for _, tt := range tests {
		opened := false
		f, info, err := regularfile.Open(func() (fs.FileInfo, error) { return os.Stat(tt.stat) }, func() (*os.File, error) {
			opened = true
			return os.OpenFile(tt.open, regularfile.Flags, 0)
		})
		var odd *regularfile.Error
		switch {
		case tt.what == "" && (err != nil || info.Size() != 1):
			t.Errorf("%s: %v", tt.name, err)
		case tt.what != "" && (!errors.As(err, &odd) || odd.What != tt.what || odd.Dir != (tt.open == dir)):
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.what)
		case tt.stat == tt.open && opened != (tt.what == ""):
			t.Errorf("%s: opened: %v", tt.name, opened)
		}
		if f != nil {
			f.Close()
		}
	}
	nothing := func() (fs.FileInfo, error) { return os.Stat(filepath.Join(dir, "nothing")) }
	if _, _, err := regularfile.Open(nothing, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// ReadFile trusts neither the size of a file with holes nor that a file is regular.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := regularfile.ReadFile(path, 4); string(text) != "text" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := regularfile.ReadFile(path, 3); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("3 bytes of 4: %v", err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := regularfile.ReadFile(path, regularfile.TextBytes); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("a file with a hole: %v", err)
	}
	for kind, make := range special.Kinds {
		path := filepath.Join(dir, kind)
		make(t, path)
		var odd *regularfile.Error
		if _, err := regularfile.ReadFile(path, 1); !errors.As(err, &odd) && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
