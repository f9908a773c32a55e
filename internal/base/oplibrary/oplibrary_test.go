package oplibrary

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"millrace/cgo"
)

// The digest in the library's name matches both the sources in the tree and the sources
// that a program embeds.
func TestDigestIsCurrent(t *testing.T) {
	for from, dir := range map[string]fs.FS{"cgo/datasets": os.DirFS("../../../cgo/datasets"), "embedded": cgo.Datasets()} {
		if err := CheckSources(dir); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// The embedded sources equal the folder, file by file.
func TestEmbeddedSources(t *testing.T) {
	tree := os.DirFS("../../../cgo/datasets")
	for _, list := range []func(fs.FS) ([]string, error){Sources, Headers} {
		want, err := list(tree)
		if err != nil {
			t.Fatal(err)
		}
		got, err := list(cgo.Datasets())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("embedded files (-want +got):\n%s", diff)
		}
	}
}

func TestCheckSourcesRefuses(t *testing.T) {
	for name, dir := range map[string]fstest.MapFS{
		"empty":         {},
		"without a .h":  {"a.cc": {Data: []byte("int a;")}},
		"other sources": {"a.cc": {Data: []byte("int a;")}, "a.h": {Data: []byte("extern int a;")}},
	} {
		if CheckSources(dir) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUsesTensorFlow(t *testing.T) {
	uses, err := UsesTensorFlow(fstest.MapFS{
		"base.h":      {Data: []byte("#include \"tensorflow/core/framework/op_kernel.h\"\n")},
		"middle.h":    {Data: []byte("#include <vector>\n\n#include \"base.h\"\n")},
		"far.cc":      {Data: []byte("// Far.\n#include \"middle.h\"\n")},
		"near.cc":     {Data: []byte("#include \"tensorflow/core/framework/tensor.h\"\n")},
		"platform.cc": {Data: []byte("#include \"tensorflow/core/platform/env.h\"\n#include \"fill.h\"\n")},
		"fill.h":      {Data: []byte("#include \"absl/types/span.h\"\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"far.cc": true, "near.cc": true, "platform.cc": false} {
		if uses[name] != want {
			t.Errorf("%s: got %t, want %t", name, uses[name], want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if got := Find(dir, "1.2.3"); got != "" {
		t.Errorf("found %s in an empty directory", got)
	}
	want := filepath.Join(dir, Folder, Name("1.2.3"))
	if err := os.Mkdir(filepath.Dir(want), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Find(dir, "1.2.3"); got != want {
		t.Errorf("Find: got %q, want %q", got, want)
	}
	if got := Find(dir, "1.2.4"); got != "" {
		t.Errorf("found %s for another version", got)
	}
}
