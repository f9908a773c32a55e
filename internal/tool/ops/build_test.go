package ops

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/opstamp"
	"millrace/internal/test/testruntime"
)

// compiler returns a command that replaces the C++ compiler: it writes its arguments to
// the file after -o.
func compiler(t *testing.T, body string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c++")
	script := "#!/bin/sh\nset -e\nfor word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n" + body + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

// compiles is the script of a working compiler.
const compiles = `echo "$@" > "$out"`

// folder returns a folder with sources.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "reader")
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The sources of folder cc are compiled, without tests, and the library has the
// folder's name. No other files are left in the folder.
func TestBuildSources(t *testing.T) {
	testruntime.Need(t)
	dir := folder(t, "cc/a.cc", "cc/a_test.cc", "cc/deep/a.cc", "cc/a.h", "other.cc", "reader.go")
	before := list(t, dir)
	path, built, err := Build(t.Context(), dir, &BuildOptions{Compiler: compiler(t, compiles)})
	if err != nil || !built || path != filepath.Join(dir, "reader.so") {
		t.Fatalf("got %s, %v, %v", path, built, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	objects := 0
	for _, word := range strings.Fields(string(text)) {
		if strings.HasSuffix(word, ".o") {
			objects++
		}
	}
	if objects != 3 { // a.cc twice, and the stamp
		t.Errorf("linked with %s", text)
	}
	if got := strings.ReplaceAll(list(t, dir), " "+path, ""); got != before {
		t.Errorf("left %s, want %s", got, before)
	}
}

func TestBuildRefuses(t *testing.T) {
	testruntime.Need(t)
	tests := []struct {
		name  string
		files []string
		o     BuildOptions
		class millrace.Class
		want  string
	}{
		{"no folder", nil, BuildOptions{}, millrace.ErrIO, "no such file or directory"},
		{"no sources", []string{"a.go"}, BuildOptions{}, millrace.ErrConfig, "has no C++ sources"},
		{"no sources in cc", []string{"a.cc", "cc/a.h"}, BuildOptions{}, millrace.ErrConfig, "has no C++ sources"},
		{"no compiler", []string{"a.cc"}, BuildOptions{Compiler: []string{"no-such-c++"}}, millrace.ErrRuntime, "there is no C++ compiler no-such-c++"},
		{"no runtime", []string{"a.cc"}, BuildOptions{Runtime: "testdata"}, millrace.ErrRuntime, "testdata"},
		{"no folder for the library", []string{"a.cc"}, BuildOptions{Path: "no/such/a.so"}, millrace.ErrIO, "no such file or directory"},
		{"compile error", []string{"cc/a.cc"}, BuildOptions{Compiler: compiler(t, "echo cc/a.cc:3:1: error; exit 1")}, millrace.ErrConfig, "cc/a.cc does not compile"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, tt.files...)
			var said bytes.Buffer
			if tt.o.Compiler == nil {
				tt.o.Compiler = compiler(t, compiles)
			}
			tt.o.Progress = &said
			path, _, err := Build(t.Context(), dir, &tt.o)
			check(t, err, tt.class, tt.want)
			if tt.name == "compile error" && said.String() != "cc/a.cc:3:1: error\n" {
				t.Errorf("said %q, want what the compiler said", said.String())
			}
			if found, _ := filepath.Glob(dir + "/*.so"); path != "" || found != nil {
				t.Errorf("left %q, %v", path, found)
			}
		})
	}
}

// A failed or canceled build leaves the previous library.
func TestBuildKeepsTheOldLibrary(t *testing.T) {
	testruntime.Need(t)
	dir := folder(t, "a.cc")
	library := filepath.Join(dir, "reader.so")
	if err := os.WriteFile(library, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := list(t, dir)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := Build(canceled, dir, &BuildOptions{Compiler: compiler(t, compiles)})
	check(t, err, millrace.ErrCanceled, "")
	_, _, err = Build(t.Context(), dir, &BuildOptions{Compiler: compiler(t, `case "$*" in *-shared*) exit 1;; esac;`+compiles)})
	check(t, err, millrace.ErrConfig, "does not compile")
	if text, err := os.ReadFile(library); err != nil || string(text) != "old" || list(t, dir) != before {
		t.Errorf("%q, %v, %s", text, err, list(t, dir))
	}
}

// A library of the same sources is kept; other sources, headers or flags make
// another one.
func TestBuildKeepsTheSame(t *testing.T) {
	load(t)
	dir := t.TempDir()
	template := &template{NewOptions: NewOptions{Name: "MyReader"}, dir: dir}
	if err := errors.Join(template.prepare(), template.write()); err != nil {
		t.Fatal(err)
	}
	o := &BuildOptions{Path: built, Flags: flags}
	if _, again, err := Build(t.Context(), dir, o); err != nil || again {
		t.Errorf("the same sources: built %v, %v", again, err)
	}
	stamp := func(o BuildOptions) opstamp.Stamp {
		b := &builder{dir: dir, BuildOptions: o}
		if err := b.prepare(); err != nil {
			t.Fatal(err)
		}
		return b.stamp
	}
	same := stamp(*o)
	if other := stamp(BuildOptions{Path: built, Flags: []string{"-g"}}); other == same {
		t.Error("other flags: the same stamp")
	}
	if err := os.WriteFile(filepath.Join(dir, SourceDir, "new.h"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if stamp(*o) == same {
		t.Error("a new header: the same stamp")
	}
}
