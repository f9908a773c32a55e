package cxx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/base/machine"
	"millrace/internal/base/runtimedir"
)

func TestJobs(t *testing.T) {
	for _, tt := range []struct {
		processors int
		memory     int64
		want       int
	}{
		{2, 16 << 30, 2},
		{64, 16 << 30, 13},
		{64, 100, 1},
		{64, machine.Unlimited, 64}, // unknown memory
	} {
		if got := jobs(tt.processors, tt.memory); got != tt.want {
			t.Errorf("jobs(%d, %d) = %d, want %d", tt.processors, tt.memory, got, tt.want)
		}
	}
}

// script returns a command that replaces the compiler: it writes its arguments to the
// file after -o.
func script(t *testing.T, body string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c++")
	text := "#!/bin/sh\nset -e\nfor word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n" + body + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

// Sources with the same name in two folders become two objects, and the library is
// linked from both, with the runtime's framework.
func TestLibrary(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	b := &Build{Runtime: "/runtime", Compiler: script(t, `echo "$@" > "$out"`), Dir: dir, Work: work, Flags: []string{"-Wall"}}
	if err := b.Library(t.Context(), []string{"a/op.cc", "b/op.cc"}, "op.so"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "op.so"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))
	last := words[len(words)-1]
	if len(words) != 7 || words[3] == words[4] || words[5] != "-Wl,-Bsymbolic-functions" || filepath.Base(last) != runtimedir.LibraryFramework {
		t.Errorf("linked with %q", words)
	}
	for i, source := range []string{"a/op.cc", "b/op.cc"} {
		if object, err := os.ReadFile(words[3+i]); err != nil || !strings.Contains(string(object), "-Wall -c "+source) {
			t.Errorf("%s: %q, %v", source, object, err)
		}
	}
}

// The header is compiled before the sources that use it, and included in no other.
func TestHeader(t *testing.T) {
	dir := t.TempDir()
	b := &Build{
		Runtime: "/runtime", Dir: dir, Work: t.TempDir(), Header: "all.h", Uses: func(source string) bool { return source != "light.cc" },
		Compiler: script(t, `case "$*" in *-include*) [ -e all.h.gch ];; esac; echo "$@" > "$out"`),
	}
	if err := b.Library(t.Context(), []string{"a.cc", "light.cc", "b.cc"}, "op.so"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a.cc": true, "light.cc": false, "b.cc": true} {
		object, err := os.ReadFile(filepath.Join(b.Work, name+".o"))
		if err != nil || strings.Contains(string(object), "-include all.h -c "+name) != want {
			t.Errorf("%s: %q, %v", name, object, err)
		}
	}
	if header, err := os.ReadFile(filepath.Join(dir, "all.h.gch")); err != nil || !strings.Contains(string(header), "-x c++-header all.h ") {
		t.Errorf("the header: %q, %v", header, err)
	}
}

// The compiler's output is returned unchanged, separately from the error.
func TestLibraryFails(t *testing.T) {
	b := &Build{Runtime: "/runtime", Compiler: script(t, "echo op.cc:3:1: error; exit 1"), Dir: t.TempDir(), Work: t.TempDir()}
	err := b.Library(t.Context(), []string{"op.cc"}, "op.so")
	var failed *Error
	if !errors.As(err, &failed) || string(failed.Output) != "op.cc:3:1: error\n" || strings.Contains(err.Error(), "op.cc:3:1") {
		t.Errorf("got %v, want an *Error with the compiler's output beside it", err)
	}
}
