package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// loader reads the packages of a workshop.
type loader struct{ *workshop }

// load lists the packages and checks their types.
func (w *loader) load(ctx context.Context, lines changes) ([]*loaded, error) {
	patterns := w.packages
	if lines != nil && len(patterns) == 0 {
		if patterns = lines.patterns(w.module); len(patterns) == 0 {
			return nil, nil
		}
	}
	all, err := w.list(ctx, append(append([]string{"-export", "-deps"}, switchImports...), patterns...)...)
	if err != nil {
		return nil, err
	}
	testers, err := w.list(ctx, "./...")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	var packages []*loaded
	for _, l := range all {
		if l.DepOnly || l.Standard {
			continue
		}
		p, err := w.loadOne(l, exports)
		if err != nil {
			return nil, err
		}
		if p.tests = w.testsOf(l, testers); len(p.files) > 0 {
			packages = append(packages, p)
		}
	}
	return packages, nil
}

// list asks the go command about packages.
func (w *loader) list(ctx context.Context, args ...string) ([]*listed, error) {
	out, err := w.output(ctx, "go", append([]string{"list", "-json"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []*listed
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		l := &listed{}
		if err := in.Decode(l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// loadOne parses a package and checks its types. Generated files and those
// that call C are not mutated.
func (w *loader) loadOne(l *listed, exports map[string]string) (*loaded, error) {
	p := &loaded{listed: l, fset: token.NewFileSet()}
	var trees []*ast.File
	for _, name := range slices.Concat(l.GoFiles, l.CgoFiles) {
		path := filepath.Join(l.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(p.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
		if ast.IsGenerated(tree) || slices.Contains(l.CgoFiles, name) {
			p.fixed = append(p.fixed, tree)
			continue
		}
		root, err := filepath.Abs(w.module)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, &source{name: filepath.ToSlash(rel), path: path, text: text, tree: tree})
	}
	p.imports = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no compiled %s", path)
		}
		return os.Open(exports[path])
	})
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	var err error
	p.types, err = p.check(trees, p.info, nil)
	return p, err
}

// testsOf returns the packages whose tests are to find the mutants of a package: the
// package itself, the packages of the same top folder that depend on it, and the
// package of the test that -with names.
func (w *loader) testsOf(l *listed, all []*listed) []*listed {
	var own, others []*listed
	for _, t := range all {
		switch {
		case !t.tested():
		case t.ImportPath == l.ImportPath:
			own = append(own, t)
		case w.own:
		case t.topFolder() == l.topFolder() && slices.Contains(t.Deps, l.ImportPath):
			others = append(others, t)
		case w.with != "":
			if only, ok := strings.CutPrefix(t.Module.Path+"/"+w.with, t.ImportPath+"."); ok {
				t.only = only
				others = append(others, t)
			}
		}
	}
	return append(own, others...)
}

// topFolder returns the folder of the module that the package is in.
func (l *listed) topFolder() string {
	if l.Module == nil {
		return ""
	}
	folder, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, l.Module.Path), "/"), "/")
	return folder
}
