package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"millrace"
)

// put makes files with their own names as content, and a folder for a name that ends
// in a slash.
func put(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		folder, _ := filepath.Split(dir + "/" + name)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A file that is not committed disappears, and an existing file with its name stays.
func TestCloseDiscards(t *testing.T) {
	dir := put(t, "file")
	f, err := Create(filepath.Join(dir, "file"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	only(t, dir, "file")
	if got, err := os.ReadFile(filepath.Join(dir, "file")); string(got) != "file" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Commit fails if something else has taken the name in the meantime, and leaves no
// temporary file.
func TestCommitRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	f, err := Create(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), path+": it is not a regular file") {
		t.Errorf("got %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	only(t, dir, "file")
}

// Rename replaces files and empty folders, RenameNew nothing.
func TestRename(t *testing.T) {
	tests := []struct {
		from, to      string
		rename, newly string // part of the error; "": no error
	}{
		{"file", "missing", "", ""},
		{"file", "other", "", "file exists"},
		{"file", "full", "not a regular file", "file exists"},
		{"full", "missing", "", ""},
		{"full", "empty", "", "file exists"},
		{"full", "filled", "directory not empty", "file exists"},
		{"gone", "other", "no such file", "no such file"},
	}
	for _, tt := range tests {
		for name, f := range map[string]func(from, to string) error{"Rename": Rename, "RenameNew": RenameNew} {
			want := tt.rename
			if name == "RenameNew" {
				want = tt.newly
			}
			dir := put(t, "file", "other", "full/a", "filled/b", "empty/")
			to := filepath.Join(dir, tt.to)
			err := f(filepath.Join(dir, tt.from), to)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s %s to %s: %v", name, tt.from, tt.to, err)
			case want != "" && (!errors.Is(err, millrace.ErrIO) || !strings.HasPrefix(err.Error(), to+": ") || !strings.Contains(err.Error(), want)):
				t.Errorf("%s %s to %s: got %v, want %q", name, tt.from, tt.to, err, want)
			}
			if _, stat := os.Stat(filepath.Join(dir, tt.from)); want == "" && !errors.Is(stat, fs.ErrNotExist) {
				t.Errorf("%s %s to %s: the old name is there", name, tt.from, tt.to)
			}
		}
	}
}

// A folder replaces another one atomically, even if names cannot be exchanged.
func TestRenameFolder(t *testing.T) {
	for name, f := range map[string]func(from, to, aside string) error{"exchange": RenameFolder, "in two steps": moveAside} {
		dir := put(t, "from/new", "to/old")
		in := func(name string) string { return filepath.Join(dir, name) }
		if err := f(in("from"), in("to"), in("aside")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		only(t, in("to"), "new")
	}
	dir := put(t, "to/old")
	if err := moveAside(filepath.Join(dir, "gone"), filepath.Join(dir, "to"), filepath.Join(dir, "aside")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	only(t, filepath.Join(dir, "to"), "old")
}

// Sweep removes the temporary files of one path, and no other file.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	long := filepath.Join(dir, strings.Repeat("n", 255))
	for _, name := range []string{Temporary(path), Temporary(path), Temporary(other), Temporary(long), filepath.Join(dir, ".file.mine.tmp")} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(Sweep(path), Sweep(other), Sweep(long)); err != nil {
		t.Error(err)
	}
	only(t, dir, ".file.mine.tmp")
}
