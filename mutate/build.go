package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// build compiles the packages whose tests count, with the mutated packages in
// place of those in the tree.
func (w *workshop) build(ctx context.Context, packages []*loaded) ([]*program, error) {
	overlay, err := w.overlay(packages)
	if err != nil {
		return nil, err
	}
	var programs []*program
	seen := map[string]bool{}
	for _, p := range packages {
		if len(p.mutants) == 0 {
			continue
		}
		for _, t := range p.tests {
			if seen[t.ImportPath] {
				continue
			}
			seen[t.ImportPath] = true
			out, err := filepath.Abs(filepath.Join(w.dir, strings.ReplaceAll(t.ImportPath, "/", "_")+".test"))
			if err != nil {
				return nil, err
			}
			w.say("compile the tests of %s", t.ImportPath)
			if _, err := w.output(ctx, "go", "test", "-c", "-overlay", overlay, "-o", out, t.ImportPath); err != nil {
				return nil, err
			}
			programs = append(programs, &program{t, out})
		}
	}
	return programs, nil
}

// overlay writes the changed files, and the list of them for the go command.
func (w *workshop) overlay(packages []*loaded) (path string, err error) {
	replace := map[string]string{}
	for _, p := range packages {
		// The packages are settled again, because only some mutants were drawn.
		if err := p.settle(); err != nil {
			return "", err
		}
		for path, text := range p.changed {
			to := filepath.Join(w.dir, strconv.Itoa(len(replace))+".go")
			if err := os.WriteFile(to, text, 0o600); err != nil {
				return "", err
			}
			replace[path] = to
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(w.dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}
