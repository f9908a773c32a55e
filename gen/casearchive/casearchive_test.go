package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"millrace/internal/test/cases"
)

// The same files give the same bytes, whatever their times and permissions.
func TestPackIsDeterministic(t *testing.T) {
	text := map[string]string{"b/expect.json": "{}", "a/data/x": "\x00\x01", "a/loader.json": "[]"}
	var packed []string
	for _, mode := range []os.FileMode{0o600, 0o444} {
		dir := t.TempDir()
		for name, s := range text {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(s), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Unix(int64(mode)*1e6, 0)); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(t.TempDir(), "cases.tar.gz")
		if err := write(out, dir); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, string(b))
	}
	if packed[0] != packed[1] {
		t.Error("the archive depends on times or permissions")
	}
	tree, err := cases.Unpack(strings.NewReader(packed[0]))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range text {
		if b, err := tree.ReadFile(name); err != nil || string(b) != s {
			t.Errorf("%s: %q, %v; want %q", name, b, err, s)
		}
	}
}

func TestPackRefusesLinks(t *testing.T) {
	tree := fstest.MapFS{"case/link": {Mode: os.ModeSymlink, Data: []byte("/etc/passwd")}}
	if err := pack(new(bytes.Buffer), tree); err == nil || !strings.Contains(err.Error(), "case/link is not a regular file") {
		t.Errorf("pack of a link: %v", err)
	}
}
