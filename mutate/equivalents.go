package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"millrace/internal/test/equivalent"
)

// setAside notes which mutants of a package no caller can notice. It returns an
// error for an entry of the list that no mutant matches: the code has changed.
func (p *loaded) setAside(list []equivalent.Entry) error {
	var wrong []error
	for i := range list {
		e, used := &list[i], false
		if e.Package != p.folder() {
			continue
		}
		for _, m := range p.mutants {
			if m.function == e.Function && e.Matches(m.kind, m.was, m.now) {
				m.equivalent, used = e, true
			}
		}
		if !used {
			wrong = append(wrong, fmt.Errorf("equivalent.txt:%d: %s has no such mutant any more: change the entry, or delete it", e.Line, e.Package))
		}
	}
	return errors.Join(wrong...)
}

// folder returns the package's folder in the module, "." for the module's own.
func (l *listed) folder() string {
	folder := l.ImportPath
	if l.Module != nil {
		folder = strings.TrimPrefix(strings.TrimPrefix(folder, l.Module.Path), "/")
	}
	return cmp.Or(folder, ".")
}

// keepEquivalent drops the mutants that tests can find.
func (p *loaded) keepEquivalent() {
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool { return m.equivalent == nil })
}

// disproved returns an error that names the mutants that a test found although
// the list says that none can.
func disproved(mutants []*mutant) error {
	var wrong []error
	for _, m := range mutants {
		if m.equivalent != nil && m.killer != "" {
			wrong = append(wrong, fmt.Errorf("equivalent.txt:%d: %s fails for the %s mutant of %s", m.equivalent.Line, m.killer, m.kind, m.place()))
		}
	}
	return errors.Join(wrong...)
}
