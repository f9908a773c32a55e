package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// root is the module's directory. Files are parsed here instead of in a child process,
// so that go test's cache knows the dependencies of the result.
const root = "../.."

// notOurs are folders without committed files.
var notOurs = map[string]bool{".git": true, "bin": true, "build": true, ".cache": true}

// source is one Go file.
type source struct {
	path      string // slash-separated, from the root
	file      *ast.File
	fset      *token.FileSet
	text      []byte
	generated bool
}

// test reports whether the file is exempt from the rules for programs.
func (s *source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// dir returns the package's folder, "." for the root.
func (s *source) dir() string { return path.Dir(s.path) }

// at returns a position in the file for a message.
func (s *source) at(p token.Pos) string {
	pos := s.fset.Position(p)
	return s.path + ":" + itoa(pos.Line)
}

// lines returns the number of lines of a part of the file.
func (s *source) lines(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// generatedLine is the marker of generated files for Go's tools.
var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// names returns every committed file's path from the root.
var names = sync.OnceValues(func() ([]string, error) {
	var paths []string
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		switch {
		case notOurs[rel] && e.IsDir():
			return fs.SkipDir
		case notOurs[rel], e.IsDir(): // .git is a file in a second worktree
			return err
		}
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	return paths, err
})

// sources returns every Go file.
var sources = sync.OnceValues(func() ([]*source, error) {
	paths, err := names()
	if err != nil {
		return nil, err
	}
	var all []*source
	fset := token.NewFileSet() // one for all: the packages can be checked together
	for _, p := range paths {
		if path.Ext(p) != ".go" || strings.Contains("/"+p, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return nil, err
		}
		s, err := newSource(fset, p, text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

// newSource parses a file.
func newSource(fset *token.FileSet, p string, text []byte) (s *source, err error) {
	s = &source{path: p, text: text, fset: fset}
	s.file, err = parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	head, _, _ := bytes.Cut(text, []byte("\npackage "))
	s.generated = generatedLine.Match(head)
	return s, err
}

// each calls f for every Go file.
func each(t *testing.T, f func(s *source)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		f(s)
	}
}
