package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// A testFunc is a test or a fuzz target.
type testFunc struct {
	dir  string // folder as an argument of the go command: "./loaders"
	name string
}

// String returns the test's name with its folder.
func (t testFunc) String() string { return strings.TrimPrefix(t.dir, "./") + "." + t.name }

// find returns the tests below root that call package soak, directly or through
// functions of their package, and all fuzz targets, both in order.
func find(root string) (tests, targets []testFunc, err error) {
	packages := make(map[string][]*ast.File)
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && path != root && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		dir := "./" + filepath.ToSlash(rel)
		packages[dir] = append(packages[dir], f)
		return err
	})
	for dir, files := range packages {
		long := callers(files)
		for name := range long {
			if strings.HasPrefix(name, "Test") {
				tests = append(tests, testFunc{dir, name})
			}
		}
		for name := range functions(files) {
			if strings.HasPrefix(name, "Fuzz") {
				targets = append(targets, testFunc{dir, name})
			}
		}
	}
	byName := func(a, b testFunc) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(tests, byName)
	slices.SortFunc(targets, byName)
	return tests, targets, err
}

// functions returns the functions, not methods, of a package's test files.
func functions(files []*ast.File) map[string]*ast.FuncDecl {
	all := make(map[string]*ast.FuncDecl)
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all[fn.Name.Name] = fn
			}
		}
	}
	return all
}

// callers returns the functions that use package soak, directly or through
// other functions.
func callers(files []*ast.File) map[string]bool {
	all, long := functions(files), map[string]bool{}
	for grown := true; grown; {
		grown = false
		for name, fn := range all {
			if !long[name] && fn.Body != nil && names(fn.Body, long) {
				long[name], grown = true, true
			}
		}
	}
	return long
}

// names reports whether a function's body mentions package soak or one of the
// functions.
func names(body *ast.BlockStmt, functions map[string]bool) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "soak" {
				found = true
			}
			return !found
		case *ast.Ident:
			found = found || functions[n.Name]
		}
		return !found
	})
	return found
}
