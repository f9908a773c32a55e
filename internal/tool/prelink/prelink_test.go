package prelink

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names of the compiled libraries, in the order in which they are opened.
var names = []string{"first.so", "second.so"}

// cc compiles one of the sources in testdata to a file in dir.
func cc(t *testing.T, dir, to, source string, flags ...string) {
	t.Helper()
	c := exec.Command("cc", append(flags, "-o", filepath.Join(dir, to), source, "-ldl")...)
	c.Dir = "testdata"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c, err, out)
	}
}

// compile compiles the libraries.
func compile(t *testing.T) (dir string) {
	t.Helper()
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("only libraries for x86-64 are prelinked")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	dir = t.TempDir()
	for i, source := range []string{"first.c", "second.c"} {
		cc(t, dir, names[i], source, "-shared", "-fPIC", "-Wl,-z,lazy")
	}
	return dir
}

// copies makes prelinked copies of the libraries in dir.
func copies(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := Copy(t.Context(), to, filepath.Join(dir, names[0]), filepath.Join(dir, names[1])); err != nil {
		t.Fatal(err)
	}
	return to
}

// A program finds the same functions and variables in the copies.
func TestCopyMeansTheSame(t *testing.T) {
	dir := compile(t)
	cc(t, dir, "open", "open.c")
	to := copies(t, dir)
	open := func(libraries string, env ...string) string {
		cmd := exec.Command(filepath.Join(dir, "open"), filepath.Join(libraries, names[0]), filepath.Join(libraries, names[1]))
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("open %s: %v\n%s", libraries, err, out)
		}
		return string(out)
	}
	want := open(dir, "LD_BIND_NOW=1")
	for _, part := range []string{"call: shared_function in first.so\n", "call: own_function in second.so\n", "place: nothing\n", "distance: 3\n", "110 3106 19\n"} {
		if !strings.Contains(want, part) {
			t.Errorf("originals\n got %s\nwant %s", want, part)
		}
	}
	for _, env := range []string{"LD_BIND_NOW=", "LD_BIND_NOW=1"} {
		if diff := cmp.Diff(want, open(to, env)); diff != "" {
			t.Errorf("%s (-originals +copies):\n%s", env, diff)
		}
	}
}

// named returns the symbols that are still referenced by name in a library's data, and
// the symbols whose calls are still to be resolved.
func named(t *testing.T, path string) (data, calls []string) {
	t.Helper()
	l, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	byName, lazy := map[string]bool{}, map[string]bool{}
	for r := range l.rela.references() {
		if _, name := l.symbol(r.symbol); r.symbol != 0 {
			byName[string(name)] = true
		}
	}
	plt := l.elf.Section(".plt")
	for r := range l.plt.references() {
		pointer, err := l.load(r.at, pointerSize)
		if err != nil {
			t.Fatal(err)
		}
		to := l.elf.ByteOrder.Uint64(pointer.data)
		if _, name := l.symbol(r.symbol); to >= plt.Addr && to < plt.Addr+plt.Size {
			lazy[string(name)] = true
		}
	}
	return ours(byName), ours(lazy)
}

// ours returns the names of the sources, sorted, without the compiler's.
func ours(names map[string]bool) []string {
	maps.DeleteFunc(names, func(name string, _ bool) bool {
		return strings.HasPrefix(name, "__") || strings.HasPrefix(name, "_ITM")
	})
	return slices.Sorted(maps.Keys(names))
}

// A reference keeps its name only if another library can define the name, or if it is
// not an address.
func TestCopyKeepsNames(t *testing.T) {
	to := copies(t, compile(t))
	tests := []struct {
		library     string
		data, calls []string
	}{
		{names[0], []string{"_ZNSt7__cxx11standard"}, nil},
		{names[1], []string{"chooses", "malloc", "of_thread", "only_first", "only_missing", "shared_function", "shared_variable"}, []string{"chooses", "shared_function"}},
	}
	for _, tt := range tests {
		data, calls := named(t, filepath.Join(to, tt.library))
		if diff := cmp.Diff(tt.data, data); diff != "" {
			t.Errorf("%s: names in data (-want +got):\n%s", tt.library, diff)
		}
		if diff := cmp.Diff(tt.calls, calls); diff != "" {
			t.Errorf("%s: calls to resolve (-want +got):\n%s", tt.library, diff)
		}
	}
}

// The same libraries give the same bytes, of the same size as before, and a copy does
// not overwrite an existing one.
func TestCopyIsReproducible(t *testing.T) {
	dir := compile(t)
	one, two := copies(t, dir), copies(t, dir)
	for _, name := range names {
		a, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(filepath.Join(two, name))
		original, _ := os.ReadFile(filepath.Join(dir, name))
		if !bytes.Equal(a, b) || len(a) != len(original) || bytes.Equal(a, original) {
			t.Errorf("%s: %d and %d bytes, of %d", name, len(a), len(b), len(original))
		}
	}
	if err := Copy(t.Context(), one, filepath.Join(dir, names[0])); !errors.Is(err, os.ErrExist) {
		t.Errorf("second copy: %v", err)
	}
}

func TestCopyRefuses(t *testing.T) {
	dir := compile(t)
	good, err := os.ReadFile(filepath.Join(dir, names[1]))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	rela, symbols := f.Section(".rela.dyn"), f.Section(".dynsym")
	changed := func(at uint64, with ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], with)
		return b
	}
	tests := map[string]struct {
		file []byte
		want string
	}{
		"text":                    {bytes.Repeat([]byte("text "), 100), "bad magic number"},
		"another machine":         {changed(18, byte(elf.EM_AARCH64)), "not a shared library for x86-64, but ET_DYN for EM_AARCH64"},
		"a program":               {changed(16, byte(elf.ET_EXEC)), "not a shared library"},
		"cut":                     {good[:rela.Offset], ""},
		"a symbol beyond the end": {changed(rela.Offset+12, 0xff, 0xff), "is to symbol"},
		"a name beyond the end":   {changed(symbols.Offset+elf.Sym64Size, 0xff, 0xff, 0xff, 0x7f), "has its name at"},
	}
	for name, tt := range tests {
		path := filepath.Join(t.TempDir(), "broken.so")
		if err := os.WriteFile(path, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		err := Copy(t.Context(), t.TempDir(), path)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestCopyIsCanceled(t *testing.T) {
	dir := compile(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Copy(ctx, t.TempDir(), filepath.Join(dir, names[0])); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
