package main

import "strings"

// mutant is a line of a source with one mistake.
type mutant struct {
	file     string
	line     int // from 1
	kind     string
	was, now string
}

// apply returns the source with the mistake.
func (m mutant) apply(text string) string {
	lines := strings.Split(text, "\n")
	lines[m.line-1] = m.now
	return strings.Join(lines, "\n")
}

// mistakes are what a text becomes in its place. The formatter sets spaces round each binary
// operator and none round the brackets of templates.
var mistakes = []struct{ kind, was, now string }{
	{"boundary", " < ", " <= "},
	{"boundary", " <= ", " < "},
	{"boundary", " > ", " >= "},
	{"boundary", " >= ", " > "},
	{"negated", " == ", " != "},
	{"negated", " != ", " == "},
	{"negated", "if (!", "if ("},
	{"logic", " && ", " || "},
	{"logic", " || ", " && "},
	{"arithmetic", " + ", " - "},
	{"arithmetic", " - ", " + "},
	{"arithmetic", " * ", " / "},
	{"arithmetic", " % ", " / "},
	{"arithmetic", " += ", " -= "},
	{"arithmetic", " -= ", " += "},
	{"constant", "return true;", "return false;"},
	{"constant", "return false;", "return true;"},
	{"constant", " = 0;", " = 1;"},
	{"constant", " + 1", " + 2"},
}

// mutate returns the mutants of a source, those that lack a statement included.
func mutate(file, text string) (all []mutant) {
	comment := false
	for i, line := range strings.Split(text, "\n") {
		code, _, _ := strings.Cut(line, "//")
		trimmed := strings.TrimSpace(code)
		if strings.HasPrefix(trimmed, "/*") {
			comment = true
		}
		if comment || strings.HasPrefix(trimmed, "#") {
			comment = comment && !strings.Contains(line, "*/")
			continue
		}
		add := func(kind, now string) {
			all = append(all, mutant{file: file, line: i + 1, kind: kind, was: strings.TrimSpace(line), now: now})
		}
		for _, m := range mistakes {
			for from := 0; ; {
				at := strings.Index(code[from:], m.was)
				if at < 0 {
					break
				}
				at += from
				from = at + len(m.was)
				if strings.Count(code[:at], `"`)%2 == 0 { // not within a string
					add(m.kind, line[:at]+m.now+line[from:])
				}
			}
		}
		if isStatement(trimmed) {
			add("removed", "")
		}
	}
	return all
}

// isStatement reports whether a line is a whole statement without which the source may still compile.
func isStatement(line string) bool {
	if !strings.HasSuffix(line, ";") || strings.Count(line, "(") != strings.Count(line, ")") {
		return false
	}
	first, _, _ := strings.Cut(line, " ")
	switch strings.TrimSuffix(first, ";") {
	case "return", "break", "continue", "using", "namespace", "class", "struct", "}", "static_assert", "case", "else":
		return first == "break;" || first == "continue;"
	}
	before, _, assigns := strings.Cut(line, " = ")
	if assigns { // declarations stay
		return !strings.Contains(strings.TrimLeft(before, "*"), " ")
	}
	return strings.HasPrefix(line, "++") || strings.HasPrefix(line, "--") || strings.Contains(first, "(") || strings.Contains(line, " += ") || strings.Contains(line, " |= ")
}
