package main

import (
	"os"
	"slices"
	"strings"
)

// survivor is a mutant that no test found. It has no line number, which may change from
// run to run.
type survivor struct{ pkg, file, kind, was, now string }

// readSurvivor reads a line of a log. It returns false for a mutant that a test
// failed for.
func readSurvivor(line string) (s survivor, ok bool) {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(fields) < 6 || strings.HasPrefix(fields[3], "killed") {
		return survivor{}, false
	}
	file, _, _ := strings.Cut(fields[1], ":")
	return survivor{fields[0], file, fields[2], fields[4], fields[5]}, true
}

// survivors returns the mutants that survived according to a log.
func survivors(path string) (all []survivor, err error) {
	text, err := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if s, ok := readSurvivor(line); ok {
			all = append(all, s)
		}
	}
	return all, err
}

// keep drops the mutants of a package that are not among the survivors.
func (p *loaded) keep(all []survivor) {
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool {
		s, ok := readSurvivor(m.String())
		return !ok || !slices.Contains(all, s)
	})
}
