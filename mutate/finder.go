package main

import (
	"fmt"
	"go/ast"
	"go/types"
)

// finder finds the mutants of one file.
type finder struct {
	p        *loaded
	src      *source
	function string // the enclosing one
	lines    changes
	ids      *int
	results  []*ast.FieldList // results of the enclosing functions, the innermost last
	done     map[ast.Node]bool
}

// add makes a mutant of a part of the file. now is the text to show in place of the
// part. edits returns the edits that insert the switch with the given id.
func (f *finder) add(kind string, at ast.Node, shown span, now string, edits func(id int) []edit) {
	from, to := f.p.fset.Position(at.Pos()), f.p.fset.Position(at.End())
	if f.lines != nil && !f.lines.has(f.src.name, from.Line) {
		return
	}
	*f.ids++
	m := &mutant{
		id: *f.ids, pkg: f.p, src: f.src, function: f.function, kind: kind, line: from.Line, last: to.Line,
		was:   lineWith(f.src.text, shown.from, shown.to, string(f.src.text[shown.from:shown.to])),
		now:   lineWith(f.src.text, shown.from, shown.to, now),
		edits: edits(*f.ids),
	}
	f.p.mutants = append(f.p.mutants, m)
}

// wrap adds a mutant that puts text before and after a part of the file. before has a
// %d for the switch.
func (f *finder) wrap(kind string, at ast.Node, now, before, after string) {
	s := f.span(at)
	f.add(kind, at, s, now, func(id int) []edit {
		return []edit{around(s.from, s.to, fmt.Sprintf(before, id), after)}
	})
}

func (f *finder) span(n ast.Node) span { return spanOf(f.p.fset, n.Pos(), n.End()) }

// text returns a part of the file as it is.
func (f *finder) text(n ast.Node) string {
	s := f.span(n)
	return string(f.src.text[s.from:s.to])
}

// is reports whether the values of an expression are of a kind.
func (f *finder) is(e ast.Expr, kind types.BasicInfo) bool {
	t := f.p.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&kind != 0
}

// spell returns the name of a type as this file has it.
func (f *finder) spell(t types.Type) (name string, ok bool) {
	ok = true
	name = types.TypeString(t, func(p *types.Package) string {
		if p == f.p.types {
			return ""
		}
		for _, spec := range f.src.tree.Imports {
			if spec.Path.Value == `"`+p.Path()+`"` {
				if spec.Name != nil {
					return spec.Name.Name
				}
				return p.Name()
			}
		}
		ok = false
		return p.Name()
	})
	return name, ok
}

// basic returns a type as a basic one, nil if it is not basic or has a name.
func basic(t types.Type, info types.BasicInfo) *types.Basic {
	b, ok := types.Unalias(t).(*types.Basic)
	if !ok || b.Info()&info == 0 || b.Info()&types.IsUntyped != 0 {
		return nil
	}
	return b
}
