package tfbridge

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/opstamp"
	"millrace/internal/test/testruntime"
)

// Loading a library returns its operations, also when it is loaded again.
func TestLoadLibrary(t *testing.T) {
	testruntime.Need(t)
	r, err := Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := r.Operations()
	if err != nil {
		t.Fatal(err)
	}
	if path == "" {
		t.Skip("no library of operations here: type make native")
	}
	all, err := OpList()
	if err != nil {
		t.Fatal(err)
	}
	names, err := opNames(all)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "Millrace") })
	for range 2 {
		l, err := LoadLibrary(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range l.Ops {
			if !slices.Contains(want, name) {
				t.Errorf("%s registered %s, TensorFlow does not know it", path, name)
			}
		}
		if l.Path != path || len(l.Ops) == 0 || len(l.OpList) == 0 {
			t.Errorf("%s has %d operations in %d bytes", l.Path, len(l.Ops), len(l.OpList))
		}
	}
	if _, err := opNames([]byte("\x0a\x09")); !errors.Is(err, millrace.ErrInternal) {
		t.Errorf("a damaged list: %v", err)
	}
}

// A file that is not a library of operations is an error with its path.
func TestLoadLibraryRefuses(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	library, err := os.ReadFile(compile(t, dir, "whole.c", "int answer(void) { return 42; }"))
	if err != nil {
		t.Fatal(err)
	}
	otherMachine := slices.Clone(library)
	otherMachine[18], otherMachine[19] = 8, 0 // the machine type of MIPS
	for name, contents := range map[string][]byte{
		"empty.so": nil, "text.so": []byte("<html>404</html>"), "cut.so": self[:4000], "program.so": self,
		"half.so": library[:len(library)/3], "machine.so": otherMachine,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, contents, 0o755); err != nil {
			t.Fatal(err)
		}
		_, asOps := LoadLibrary(path)
		for as, err := range map[string]error{"operations": asOps, "a device": LoadPluggableDeviceLibrary(path)} {
			if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s as %s: %v, want an error with the path", name, as, err)
			}
		}
	}
	for name, source := range map[string]string{
		"a function that is missing": "extern int no_such_function(void); int answer(void) { return no_such_function(); }",
		"a datum that is missing":    "extern int no_such_datum; int *answer(void) { return &no_such_datum; }",
	} {
		path := compile(t, dir, "missing.c", source+"\nvoid SE_InitPlugin(void) {}\n")
		_, asOps := LoadLibrary(path)
		for as, err := range map[string]error{"operations": asOps, "a device": LoadPluggableDeviceLibrary(path)} {
			if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "no_such_") {
				t.Errorf("%s as %s: %v, want an error with the path and the symbol", name, as, err)
			}
		}
	}
	none := filepath.Join(dir, "none.so")
	_, asOps := LoadLibrary(none)
	for as, err := range map[string]error{"operations": asOps, "a device": LoadPluggableDeviceLibrary(none)} {
		if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), "none.so: ") {
			t.Errorf("missing as %s: %v", as, err)
		}
	}
}

// A library that was built for another version of TensorFlow is refused before its code
// runs. Libraries of the same minor version, and libraries without a stamp, load.
func TestLoadLibraryOfAnotherVersion(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	build := func(name string, stamp []byte) string {
		source := strings.ReplaceAll(string(stamp), `extern "C"`, "extern")
		return compile(t, dir, name, source+"\nvoid nothing(void) {}\n")
	}
	for _, name := range []string{"2.21.7.c", "none.c"} {
		var stamp []byte
		if name != "none.c" {
			stamp = opstamp.Stamp{TensorFlow: "2.21.7"}.Source()
		}
		if _, err := LoadLibrary(build(name, stamp)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := build("other.c", append(opstamp.Stamp{TensorFlow: "2.20.0"}.Source(),
		"__attribute__((constructor)) static void run(void) { __builtin_trap(); }\n"...))
	_, err := LoadLibrary(other)
	if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), "built for TensorFlow 2.20.0") || !strings.Contains(err.Error(), other) {
		t.Errorf("got %v, want an error with both versions and the path", err)
	}
}

func TestRegisteredKernels(t *testing.T) {
	testruntime.Need(t)
	list, err := RegisteredKernels("MatMul")
	if err != nil || !strings.Contains(string(list), "CPU") {
		t.Errorf("of MatMul: %q, %v", list, err)
	}
	if list, err := RegisteredKernels("NoSuchOperation"); err != nil || len(list) != 0 {
		t.Errorf("of an operation that is not there: %q, %v", list, err)
	}
	if _, err := RegisteredKernels("a\x00"); err == nil {
		t.Error("of a name with a NUL: no error")
	}
}

func TestLoadPluggableDeviceLibrary(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	plain := compile(t, dir, "plain.c", "int answer(void) { return 42; }")
	for want, path := range map[string]string{"none of their functions": plain, "must have a folder": "plain.so", "holds a NUL": "./a\x00"} {
		if err := LoadPluggableDeviceLibrary(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
	out, ok := child(t, "plugin", "MILLRACE_PLUGIN="+compile(t, dir, "kernel.c", "#include <stdio.h>\nvoid TF_InitKernel(void) { puts(\"kernels\"); fflush(stdout); }"))
	if !ok || out != "kernels\nfalse: <nil>\nfalse: <nil>\n" {
		t.Errorf("a plug-in of kernels: %v\n%s", ok, out)
	}
}

// pluginChild loads a plug-in twice.
func pluginChild() {
	for range 2 {
		report(LoadPluggableDeviceLibrary(os.Getenv("MILLRACE_PLUGIN")))
	}
}

// compile makes a shared library of a C source and returns its path.
func compile(t *testing.T, dir, name, source string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	library := strings.TrimSuffix(path, ".c") + ".so"
	cc := cmp.Or(os.Getenv("CC"), "cc")
	if out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-o", library, path).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	return library
}
