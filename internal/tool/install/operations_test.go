package install

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"millrace"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
)

// compiler returns a command that replaces the C++ compiler: a shell script that writes
// its last arguments to the file after -o.
func compiler(t *testing.T, body string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cxx")
	script := "#!/bin/sh\nset -e\nfor word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n" + body + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{path, "-first"}
}

// compiles is the script of a working compiler.
const compiles = `echo "$@" >> "$out"`

// withHeaders returns a runtime directory to compile for.
func withHeaders(t *testing.T) string {
	t.Helper()
	got, err := Install(t.Context(), wheelOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	return got.Dir
}

func TestBuildOperations(t *testing.T) {
	dir := withHeaders(t)
	var said bytes.Buffer
	o := &OperationsOptions{Compiler: compiler(t, compiles), Flags: []string{"-Wall"}, Progress: &said}
	path, err := BuildOperations(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := oplibrary.Find(dir, runtimedir.Pinned().Version); got != path {
		t.Errorf("built %s, but a program finds %q", path, got)
	}
	if err := oplibrary.Verify(path); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The arguments contain no directory names: two builds must give the same bytes.
	objects, linked := strings.CutPrefix(string(text), "-first -shared -o operations.so ")
	if first, _, _ := strings.Cut(objects, " "); !linked || !strings.HasSuffix(first, ".cc.o") || strings.Contains(first, "/") {
		t.Errorf("linked with\n%s", text)
	}
	if strings.Contains(string(text), "_test.cc") {
		t.Errorf("a test is part of the library: %s", text)
	}
	if !strings.Contains(said.String(), "compiling") || !strings.Contains(said.String(), path) {
		t.Errorf("said %q", said.String())
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), workPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	o.Compiler = compiler(t, "exit 1") // is not called again
	if again, err := BuildOperations(t.Context(), dir, o); err != nil || again != path {
		t.Errorf("second time: %s, %v", again, err)
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Compiler = compiler(t, compiles)
	if _, err := BuildOperations(t.Context(), dir, o); err != nil || oplibrary.Verify(path) != nil {
		t.Errorf("a damaged library is not built again: %v, %v", err, oplibrary.Verify(path))
	}
}

// Two programs that start together compile once.
func TestBuildOperationsConcurrent(t *testing.T) {
	dir := withHeaders(t)
	links := filepath.Join(t.TempDir(), "links")
	cxx := compiler(t, compiles+"\ncase \"$*\" in *-shared*) echo >> '"+links+"';; esac")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := BuildOperations(t.Context(), dir, &OperationsOptions{Compiler: cxx}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(links); err != nil || string(b) != "\n" {
		t.Errorf("linked %q times, %v; want once", b, err)
	}
}

func TestBuildOperationsRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string, o *OperationsOptions)
		class  millrace.Class
		want   string
	}{
		{"no compiler", func(_ string, o *OperationsOptions) { o.Compiler = []string{"no-such-c++"} }, millrace.ErrRuntime, "there is no C++ compiler no-such-c++: install it, or name another one"},
		{"no headers", func(dir string, _ *OperationsOptions) { os.RemoveAll(filepath.Join(dir, "include")) }, millrace.ErrRuntime, "has no TensorFlow headers"},
		{"compile error", func(_ string, o *OperationsOptions) {
			o.Compiler = compiler(t, `echo "crc32c.cc:1: no such thing" >&2; exit 1`)
		}, millrace.ErrRuntime, "crc32c.cc:1: no such thing"},
		{"link error", func(_ string, o *OperationsOptions) {
			o.Compiler = compiler(t, compiles+"\ncase \"$*\" in *-shared*) echo undefined reference; exit 1;; esac")
		}, millrace.ErrRuntime, "undefined reference"},
		{"ops is a file", func(dir string, _ *OperationsOptions) { os.WriteFile(filepath.Join(dir, oplibrary.Folder), nil, 0o644) }, millrace.ErrIO, "not a directory"},
		{"other sources", func(_ string, o *OperationsOptions) { o.sources = fstest.MapFS{"a.cc": {}, "a.h": {}} }, millrace.ErrInternal, "type make native"},
		{"no sources", func(_ string, o *OperationsOptions) { o.sources = fstest.MapFS{} }, millrace.ErrInternal, "no *.cc files among the sources"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := withHeaders(t)
			o := &OperationsOptions{Compiler: compiler(t, compiles)}
			tt.change(dir, o)
			_, err := BuildOperations(t.Context(), dir, o)
			check(t, err, tt.class, tt.want)
			if got := oplibrary.Find(dir, runtimedir.Pinned().Version); got != "" {
				t.Errorf("left %s", got)
			}
		})
	}
}

// A canceled build ends the compiler and leaves nothing.
func TestBuildOperationsCanceled(t *testing.T) {
	dir := withHeaders(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := &OperationsOptions{Compiler: compiler(t, "exec sleep 600"), Progress: writerFunc(func([]byte) { cancel() })}
	_, err := BuildOperations(ctx, dir, o)
	check(t, err, millrace.ErrCanceled)
	left, err := os.ReadDir(filepath.Join(dir, oplibrary.Folder))
	if err != nil || len(left) != 1 || left[0].Name() != lockFile {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCanBuildOperations(t *testing.T) {
	dir := withHeaders(t)
	o := &OperationsOptions{Compiler: compiler(t, compiles)}
	if err := CanBuildOperations(dir, o); err != nil {
		t.Error(err)
	}
	check(t, CanBuildOperations(dir, &OperationsOptions{Compiler: []string{"no-such-c++"}}), millrace.ErrRuntime, "no C++ compiler")
	check(t, CanBuildOperations(t.TempDir(), o), millrace.ErrRuntime, "no TensorFlow headers")
}
