package main

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// killers remembers which tests found mutants of which files.
type killers struct {
	lock  sync.Mutex
	kills map[kill]int
}

// kill is a test that found a mutant of a file. The test has the name that mutants use
// for it.
type kill struct{ test, file string }

// note remembers what found a mutant.
func (k *killers) note(m *mutant) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.kills[kill{m.killer, m.src.name}]++
}

// order returns the tests that reach a mutant, the likeliest to fail soon first: those
// that found most of the file's mutants for their time, then those of the mutant's own
// package, then the quick ones.
func (k *killers) order(m *mutant) []*test {
	k.lock.Lock()
	defer k.lock.Unlock()
	found := func(t *test) float64 {
		return float64(k.kills[kill{t.String(), m.src.name}]) / max(t.took.Seconds(), 0.001)
	}
	foreign := func(t *test) int {
		if t.ImportPath == m.pkg.ImportPath {
			return 0
		}
		return 1
	}
	tests := slices.Clone(m.tests)
	slices.SortFunc(tests, func(a, b *test) int {
		return cmp.Or(cmp.Compare(found(b), found(a)), cmp.Compare(foreign(a), foreign(b)),
			cmp.Compare(a.took, b.took), strings.Compare(a.name, b.name))
	})
	return tests
}
