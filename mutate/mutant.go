package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"time"

	"millrace/internal/test/equivalent"
)

// mutant is one mistake, and later the result of running the tests with it.
type mutant struct {
	id       int
	pkg      *loaded
	src      *source
	function string // the function that it is in, as the list of equivalents names it
	kind     string // what was changed: "negated"
	line     int
	last     int    // line on which the changed part ends
	was      string // the line as it is
	now      string // the line with the mistake
	edits    []edit

	equivalent *equivalent.Entry // why no test can find it; nil if one can
	tests      []*test           // the tests that reach it
	killer     string            // the test that failed; "" if none did
}

// place returns where a mutant is.
func (m *mutant) place() string { return fmt.Sprintf("%s:%d", m.src.name, m.line) }

// listed is a package as "go list" describes it.
type listed struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	CgoFiles   []string
	Export     string // file of compiled types
	ForTest    string
	Standard   bool
	DepOnly    bool
	Module     *struct{ Path string }

	TestGoFiles, XTestGoFiles []string
	Deps                      []string

	only string // the test whose subtests count; "": all tests count
}

// tested reports whether the package has tests.
func (l *listed) tested() bool { return len(l.TestGoFiles)+len(l.XTestGoFiles) > 0 }

// source is a file of a package that is mutated.
type source struct {
	name string // path from the module's folder
	path string
	text []byte
	tree *ast.File
}

// loaded is a package whose types are known.
type loaded struct {
	*listed
	fset    *token.FileSet
	files   []*source
	fixed   []*ast.File // files that are not mutated
	imports types.Importer
	info    *types.Info
	types   *types.Package
	tests   []*listed // packages whose tests count
	mutants []*mutant
	changed map[string][]byte // text with switches, by path
}

// program is a compiled test package.
type program struct {
	*listed
	path string
}

// test is a test of a program: a top-level one, or a subtest "TestX/y".
type test struct {
	*program
	name string
	took time.Duration // processor time with no mutant on
}

// parent returns the name of the test that a subtest is part of, "" for a
// top-level test.
func (t *test) parent() string {
	if parent, _, ok := strings.Cut(t.name, "/"); ok {
		return parent
	}
	return ""
}

// String returns the name of a test as the tables of the docs have it.
func (t *test) String() string { return t.ImportPath + "." + t.name }

// check checks the types of a package's files. A nil report stops at the first
// error.
func (p *loaded) check(trees []*ast.File, info *types.Info, report func(error)) (*types.Package, error) {
	config := types.Config{Importer: p.imports, Error: report, FakeImportC: true}
	return config.Check(p.ImportPath, p.fset, trees, info)
}
