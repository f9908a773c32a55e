package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// String is the mutant's line in the log: its result, its place, and how the line of
// code reads with it.
func (m *mutant) String() string {
	fate := "killed by " + m.killer
	switch {
	case m.killer == "" && m.equivalent != nil:
		fate = "equivalent"
	case m.killer == "" && len(m.tests) == 0:
		fate = "no test runs it"
	case m.killer == "":
		fate = "survived"
	}
	now := m.now
	if now == "" {
		now = "(nothing)"
	}
	return strings.Join([]string{m.pkg.ImportPath, m.place(), m.kind, fate, m.was, now}, "\t")
}

// score counts the results of the mutants of a package.
type score struct {
	path         string
	made, killed int
	equivalent   int // the equivalent ones among those made
}

// countable returns how many mutants a test can find.
func (s score) countable() int { return s.made - s.equivalent }

// percentage returns the share of the countable mutants that a test failed for.
func (s score) percentage() float64 {
	if s.countable() == 0 {
		return 100
	}
	return 100 * float64(s.killed) / float64(s.countable())
}

// scores returns the score of each package, by path.
func scores(mutants []*mutant) (all []score) {
	for _, m := range mutants {
		i := slices.IndexFunc(all, func(s score) bool { return s.path == m.pkg.ImportPath })
		if i < 0 {
			i = len(all)
			all = append(all, score{path: m.pkg.ImportPath})
		}
		all[i].made++
		switch {
		case m.equivalent != nil:
			all[i].equivalent++
		case m.killer != "":
			all[i].killed++
		}
	}
	slices.SortFunc(all, func(a, b score) int { return strings.Compare(a.path, b.path) })
	return all
}

// enough returns an error that names the packages with too low a score.
func enough(mutants []*mutant, least float64) error {
	var low []string
	for _, s := range scores(mutants) {
		if s.percentage() < least {
			low = append(low, s.path)
		}
	}
	if low == nil {
		return nil
	}
	return fmt.Errorf("less than %g%% found in %s", least, strings.Join(low, ", "))
}

// report prints what survived, and the scores.
func report(out io.Writer, mutants []*mutant, o options) error {
	var b strings.Builder
	for _, m := range mutants {
		b.WriteString(m.survival())
	}
	if len(mutants) == 0 {
		b.WriteString("nothing to mutate\n")
	} else {
		b.WriteString("\nfound by tests")
		if o.sample > 0 {
			fmt.Fprintf(&b, ", of at most %d mutants a package drawn with seed %d", o.sample, o.seed)
		}
		b.WriteString(":\n")
	}
	for _, s := range scores(mutants) {
		fmt.Fprintf(&b, "%5.1f%%  %4d of %4d  %s", s.percentage(), s.killed, s.countable(), s.path)
		if s.equivalent > 0 {
			fmt.Fprintf(&b, ", %d equivalent", s.equivalent)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// survival is the report's line about a mutant that no test found, "" for other
// mutants. After the name of the file it has the form of an entry in the list of
// equivalent mutants.
func (m *mutant) survival() string {
	why := ""
	switch {
	case m.killer != "":
		return ""
	case m.equivalent != nil:
		why = ", which changes nothing, because " + m.equivalent.Because
	case len(m.tests) == 0:
		why = ", which no test runs"
	}
	where := m.place()
	if m.function != "" {
		where += " " + m.function
	}
	return fmt.Sprintf("%s: %s%s\n\t- %s\n\t+ %s\n", where, m.kind, why, m.was, m.now)
}
