package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/types"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// mutate finds the mutants of a package, in the given lines, and keeps those
// that compile.
func (p *loaded) mutate(lines changes, ids *int) error {
	for _, src := range p.files {
		f := &finder{p: p, src: src, lines: lines, ids: ids, done: map[ast.Node]bool{}}
		f.find()
	}
	return p.settle()
}

// settle writes the package with the switches of its mutants, and drops the mutants
// with which it does not compile. A switch may compile only together with another: in
// 1<<n - 1 the other one gives the constant its type. So a draw has to settle again.
func (p *loaded) settle() error {
	for range 20 {
		dropped, err := p.compile()
		if err != nil || dropped == 0 {
			return err
		}
	}
	return fmt.Errorf("%s does not compile with the mutants", p.ImportPath)
}

// edited returns the edits of all mutants of a file, in the order in which the
// mutants were found.
func (p *loaded) edited(src *source) (edits []edit) {
	for _, m := range p.mutants {
		if m.src == src {
			edits = append(edits, m.edits...)
		}
	}
	return edits
}

// drop forgets the mutants of a line: those that begin or end on it, or if there are
// none, those around it.
func (p *loaded) drop(path string, line int) (dropped int) {
	n := len(p.mutants)
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool {
		return m.src.path == path && (m.line == line || m.last == line)
	})
	if len(p.mutants) == n {
		p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool {
			return m.src.path == path && m.line <= line && line <= m.last
		})
	}
	return n - len(p.mutants)
}

// draw keeps n mutants of a package. The choice depends on the seed alone.
func (p *loaded) draw(n int, seed uint64) {
	if n == 0 || n >= len(p.mutants) {
		return
	}
	random(p.ImportPath, seed).Shuffle(len(p.mutants), func(i, j int) { p.mutants[i], p.mutants[j] = p.mutants[j], p.mutants[i] })
	p.mutants = p.mutants[:n]
	slices.SortFunc(p.mutants, func(a, b *mutant) int { return cmp.Compare(a.id, b.id) })
}

// switches is the file that is added to each package that is mutated.
//
//go:embed switches.go.txt
var switches string

// switchesName is the file's name in the package.
const switchesName = "mutant_switches.go"

// switchImports are the packages that the file imports.
var switchImports = []string{"os", "strconv", "sync/atomic"}

// compile writes the package with all switches, and checks its types. It drops the
// mutants in lines that have errors, and returns how many.
func (p *loaded) compile() (dropped int, err error) {
	p.changed = map[string][]byte{
		filepath.Join(p.Dir, switchesName): []byte(strings.Replace(switches, "PACKAGE", p.Name, 1)),
	}
	for _, src := range p.files {
		p.changed[src.path] = apply(src.text, p.edited(src))
	}
	trees := append([]*ast.File{}, p.fixed...)
	var wrong []error
	for path, text := range p.changed {
		tree, err := parser.ParseFile(p.fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			wrong = append(wrong, err)
		}
		trees = append(trees, tree)
	}
	if len(wrong) == 0 {
		_, _ = p.check(trees, nil, func(err error) { wrong = append(wrong, err) })
	}
	for _, err := range wrong {
		path, line := p.placeOf(err)
		dropped += p.drop(path, line)
	}
	if len(wrong) > 0 && dropped == 0 {
		return 0, wrong[0]
	}
	return dropped, nil
}

// placeOf returns the file and line of an error of parsing or checking types.
func (p *loaded) placeOf(err error) (path string, line int) {
	var list scanner.ErrorList
	if errors.As(err, &list) {
		return list[0].Pos.Filename, list[0].Pos.Line
	}
	var wrong types.Error
	if errors.As(err, &wrong) {
		at := p.fset.Position(wrong.Pos)
		return at.Filename, at.Line
	}
	return "", 0
}

// random returns the random generator of a package's draws.
func random(path string, seed uint64) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(path))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
