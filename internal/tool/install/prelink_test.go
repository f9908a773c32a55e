package install

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/runtimedir"
	"millrace/internal/tool/prelink"
)

// prelinkable installs two small libraries. It returns their directory, and options
// whose pins include the prelinked copies.
func prelinkable(t *testing.T) (dir string, o *PrelinkOptions) {
	t.Helper()
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("only libraries for x86-64 are prelinked")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	from, to := t.TempDir(), t.TempDir()
	var originals []string
	for _, name := range runtimedir.Libraries {
		path := filepath.Join(from, name)
		cc := exec.Command("cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path)
		cc.Stdin = strings.NewReader("int value; int *pointer = &value; static int own, *ours = &own; int **get(void) { return &ours; }")
		if out, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		originals = append(originals, path)
	}
	if err := prelink.Copy(t.Context(), to, originals...); err != nil {
		t.Fatal(err)
	}
	pins := &runtimedir.Pins{Version: "2.21.0", Wheels: []runtimedir.Wheel{{
		Variant: runtimedir.CPU, GOARCH: runtime.GOARCH, Libraries: hashed(t, from), Prelinked: hashed(t, to),
	}}}
	made, err := Install(t.Context(), &Options{From: from, Dir: t.TempDir(), pins: pins})
	if err != nil {
		t.Fatal(err)
	}
	return made.Dir, &PrelinkOptions{pins: pins}
}

// hashed returns pins of the libraries in a directory.
func hashed(t *testing.T, dir string) map[string]runtimedir.Pin {
	t.Helper()
	pins := map[string]runtimedir.Pin{}
	for _, name := range runtimedir.Libraries {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pins[name] = runtimedir.Pin{Size: int64(len(b)), SHA256: sumOf(b)}
	}
	return pins
}

func TestPrelink(t *testing.T) {
	dir, o := prelinkable(t)
	in, err := runtimedir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.pins.Prelinked(in, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	var said bytes.Buffer
	o.Progress = &said
	made, err := Prelink(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, runtimedir.PrelinkedDir); made.Dir != want {
		t.Errorf("made in %s, want %s", made.Dir, want)
	}
	if _, err := o.pins.Prelinked(in, true); err != nil {
		t.Error(err)
	}
	if err := in.Verify(true); err != nil {
		t.Errorf("the originals: %v", err)
	}
	if want := "prelinking " + in.String() + ", once\n"; said.String() != want {
		t.Errorf("said\n got %s\nwant %s", &said, want)
	}
	noWork(t, dir)
	said.Reset()
	if _, err := Prelink(t.Context(), dir, o); err != nil || said.Len() > 0 {
		t.Errorf("again: %v, said %s", err, &said)
	}
}

// noWork fails if a temporary directory is left in dir.
func noWork(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Copies that are changed, incomplete or of another version are not used but made
// again.
func TestPrelinkReplaces(t *testing.T) {
	dir, o := prelinkable(t)
	in, err := runtimedir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	prelinked := filepath.Join(dir, runtimedir.PrelinkedDir)
	library := filepath.Join(prelinked, runtimedir.LibraryCC)
	tests := map[string]func() error{
		"cut": func() error { return os.Truncate(library, 100) },
		"changed": func() error {
			b, err := os.ReadFile(library)
			if err != nil {
				return err
			}
			b[len(b)/2] ^= 1
			return errors.Join(os.Remove(library), os.WriteFile(library, b, 0o644))
		},
		"missing":  func() error { return os.Remove(library) },
		"no list":  func() error { return os.Remove(filepath.Join(prelinked, runtimedir.InfoFile)) },
		"bad list": func() error { return os.WriteFile(filepath.Join(prelinked, runtimedir.InfoFile), []byte("{"), 0o644) },
		"of another version": func() error {
			made, err := runtimedir.Read(prelinked)
			if err != nil {
				return err
			}
			made.Libraries[1].SHA256 = made.Libraries[0].SHA256
			return made.Write()
		},
	}
	for name, damage := range tests {
		if _, err := Prelink(t.Context(), dir, o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := damage(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if made, err := o.pins.Prelinked(in, false); err == nil {
			t.Errorf("%s: %+v is used", name, made)
		}
	}
	if _, err := Prelink(t.Context(), dir, o); err != nil {
		t.Error(err)
	}
	if _, err := o.pins.Prelinked(in, true); err != nil {
		t.Error(err)
	}
	noWork(t, dir)
}

// Copies that cannot be completed leave no files.
func TestPrelinkFails(t *testing.T) {
	dir, o := prelinkable(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prelink(canceled, dir, o); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := Prelink(t.Context(), t.TempDir(), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no runtime: %v", err)
	}
	w := &o.pins.Wheels[0]
	pins := w.Prelinked
	w.Prelinked = nil
	if made, err := Prelink(t.Context(), dir, o); made != nil || err != nil {
		t.Errorf("not pinned: %v, %v", made, err)
	}
	w.Prelinked = w.Libraries
	_, err := Prelink(t.Context(), dir, o)
	check(t, err, millrace.ErrRuntime, "has changed: prelinked it has SHA-256 "+pins[runtimedir.LibraryFramework].SHA256)
	noWork(t, dir)
	if _, err := os.Stat(filepath.Join(dir, runtimedir.PrelinkedDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}
