package lint

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The budgets of a program's files; generated and test files are exempt.
const (
	maxFileLines     = 500
	maxFunctionLines = 80
	maxParameters    = 4
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestBudgets(t *testing.T) {
	each(t, func(s *source) {
		if s.test() || s.generated {
			return
		}
		if n := bytes.Count(s.text, []byte("\n")); n > maxFileLines {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by concern", s.path, n, maxFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.lines(f); n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, at most %d are allowed", s.at(f.Pos()), f.Name, n, maxFunctionLines)
			}
			if n := parameters(f); n > maxParameters && f.Name.IsExported() && !operation(s) {
				t.Errorf("%s: %s has %d parameters, at most %d are allowed: make an options struct", s.at(f.Pos()), f.Name, n, maxParameters)
			}
		}
	})
}

// maxFiles is the maximum number of program files in a folder: as many as a reader can
// keep in mind. crowded are the exceptions, with their own maximum.
const maxFiles = 40

var crowded = map[string]int{
	"tfbridge": 61, // a file for each C object
}

func TestFolders(t *testing.T) {
	files := map[string]int{}
	each(t, func(s *source) {
		if !s.test() && !s.generated {
			files[s.dir()]++
		}
	})
	for dir, n := range files {
		if n > max(maxFiles, crowded[dir]) {
			t.Errorf("%s has %d files, at most %d are allowed: make a package of some", dir, n, max(maxFiles, crowded[dir]))
		}
	}
	for dir := range crowded {
		if files[dir] <= maxFiles {
			t.Errorf("%s has %d files: take it off the list of crowded folders", dir, files[dir])
		}
	}
}

// parameters counts the parameters of a function without a leading context and a
// trailing options struct.
func parameters(f *ast.FuncDecl) int {
	n := f.Type.Params.NumFields()
	if n == 0 {
		return 0
	}
	if sel, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
		n--
	}
	last := f.Type.Params.List[len(f.Type.Params.List)-1].Type
	if star, ok := last.(*ast.StarExpr); ok {
		if id, ok := star.X.(*ast.Ident); ok && strings.HasSuffix(id.Name, "Options") {
			n--
		}
	}
	return n
}

// operation reports whether a file wraps TensorFlow's operations, one function each,
// whose parameters are predetermined.
func operation(s *source) bool {
	return strings.HasPrefix(s.path, "graph/") && strings.HasSuffix(s.path, "_ops.go")
}

// vague are package names that do not describe their contents.
var vague = regexp.MustCompile(`(?i)^(utils?|commons?|helpers?|managers?|misc|shared)$`)

func TestNames(t *testing.T) {
	each(t, func(s *source) {
		for _, part := range strings.Split(strings.TrimSuffix(strings.TrimSuffix(s.path, ".go"), "_test"), "/") {
			if vague.MatchString(part) {
				t.Errorf("%s: the name %q says nothing", s.path, part)
			}
		}
		if s.generated || s.test() {
			return
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init: make a table and pass it in", s.at(f.Pos()))
			}
			if m := prefixed.FindStringSubmatch(f.Name.Name); m != nil {
				t.Errorf("%s: %s: no %s before names", s.at(f.Pos()), f.Name, m[1])
			}
		}
	})
}

// prefixed matches exported names with a prefix that is not idiomatic in Go.
var prefixed = regexp.MustCompile(`^(Get|Try|Must)[A-Z]`)

func TestDocComments(t *testing.T) {
	packages := map[string]bool{}
	each(t, func(s *source) {
		if s.test() {
			return
		}
		packages[s.dir()] = packages[s.dir()] || s.file.Doc != nil
		if s.generated || s.file.Name.Name == "main" {
			return
		}
		for _, d := range s.file.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no doc comment", s.at(d.Pos()), name)
			}
		}
	})
	for dir, ok := range packages {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// undocumented returns the exported names of a declaration without comment.
func undocumented(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exportedType(d.Recv.List[0].Type)) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil || d.Tok == token.IMPORT {
			return nil
		}
		var names []string
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(spec ast.Spec) []string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Doc == nil && spec.Comment == nil && spec.Name.IsExported() {
			return []string{spec.Name.Name}
		}
	case *ast.ValueSpec:
		if spec.Doc == nil && spec.Comment == nil && spec.Names[0].IsExported() {
			return []string{spec.Names[0].Name}
		}
	}
	return nil
}

// exportedType reports whether a method's receiver has an exported type.
func exportedType(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return exportedType(e.X)
	case *ast.IndexExpr:
		return exportedType(e.X)
	case *ast.IndexListExpr:
		return exportedType(e.X)
	case *ast.Ident:
		return e.IsExported()
	}
	return false
}

func TestGenerated(t *testing.T) {
	each(t, func(s *source) {
		named := strings.HasSuffix(s.path, "_gen.go") || strings.HasSuffix(s.path, ".pb.go")
		if named != s.generated {
			t.Errorf("%s: files named *_gen.go or *.pb.go, and only they, say \"// Code generated by <tool>; DO NOT EDIT.\"", s.path)
		}
	})
}

// Sleeping makes tests slow and unreliable, except in the virtual time of
// testing/synctest.
func TestNoSleep(t *testing.T) {
	each(t, func(s *source) {
		if s.test() && path.Base(s.path) != "files_test.go" && bytes.Contains(s.text, []byte("time.Sleep(")) && !bytes.Contains(s.text, []byte("testing/synctest")) {
			t.Errorf("%s sleeps", s.path)
		}
	})
}
