package lint

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// foreign matches text that belongs to one machine: home directories, build
// directories, the hosts of package registries and their mirrors.
var foreign = regexp.MustCompile(`/(root|work|home/[a-z]+|Users/[A-Za-z]+|tmp/(mr|tf[a-z]*))/|\b(pypi\.org|pythonhosted\.org|proxy\.golang\.org|sum\.golang\.org|artifactory|index-url)\b`)

// foreignExempt are files that must name such things.
var foreignExempt = map[string]bool{"internal/lint/text_test.go": true}

func TestForeignText(t *testing.T) {
	paths, err := names()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if foreignExempt[p] {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			continue // not text
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if m := foreign.Find(line); m != nil {
				t.Errorf("%s:%d: %q belongs to one machine", p, n+1, m)
			}
		}
	}
}

// direct matches a direct requirement of go.mod.
var direct = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+) v\S+$`)

// Each dependency has a documented reason.
func TestRationale(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	rationale, err := os.ReadFile(filepath.Join(root, "docs/rationale.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := direct.FindAllSubmatch(mod, -1)
	if len(found) == 0 {
		t.Fatal("go.mod: no requirement found")
	}
	for _, m := range found {
		if !bytes.Contains(rationale, []byte("`"+string(m[1])+"`")) {
			t.Errorf("docs/rationale.md has no entry that names `%s`", m[1])
		}
	}
}

// fenced matches a block of code in Markdown.
var fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

// links matches a relative link in Markdown.
var links = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)

func TestLinks(t *testing.T) {
	paths, err := names()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if path.Ext(p) != ".md" || strings.Contains("/"+p, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllSubmatch(fenced.ReplaceAll(text, nil), -1) {
			target := path.Join(path.Dir(p), string(m[1]))
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", p, target)
			}
		}
	}
}
