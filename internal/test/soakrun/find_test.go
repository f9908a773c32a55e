package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go": `package a
func TestDirect(t *testing.T) { for range soak.Rounds(1, 2) {} }
func TestThroughOther(t *testing.T) { each(func() {}) }
func TestBrief(t *testing.T) { other() }
func FuzzIt(f *testing.F) {}
func other() {}
`,
		"a/each_test.go":                "package a\nfunc each(f func()) { if soak.Long() { f() } }\n",
		"b/c/c_test.go":                 "package c\nfunc FuzzOther(f *testing.F) {}\n",
		"a/a.go":                        "package a\nfunc FuzzNoTest() {}\n",
		"testdata/no_test.go":           "package no\nfunc FuzzNo(f *testing.F) {}\n",
		filepath.Join(".x", "_test.go"): "package no\nfunc FuzzNo(f *testing.F) {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests, targets, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range append(tests, targets...) {
		got = append(got, f.String())
	}
	want := []string{"a.TestDirect", "a.TestThroughOther", "a.FuzzIt", "b/c.FuzzOther"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}
