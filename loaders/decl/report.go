package decl

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"millrace/diag"
	"millrace/internal/base/jsonpos"
)

const (
	maxProblems  = 1000 // problems of one file that are reported one by one
	manyProblems = 100
)

// Reporter collects the problems of one JSON file.
type Reporter struct {
	File  string
	Class error // the class of problems, by default
	Limit error // the class of values above a limit
	List  diag.List

	// Further returns variants of a field with a key in addition to those that its struct declares,
	// whose pointer is v. It may be nil.
	Further func(v any, key string) []Variant

	labels map[int]label // labels of objects, by the offset of the object
	types  map[reflect.Type]*structure
	counts [2]int // number of problems by severity, including those beyond maxProblems
}

// label names an object in messages: a noun, a name, and the key of the name.
type label struct{ noun, name, key string }

// Report adds an error at a place and returns it, so that a hint or another
// class can be set.
func (r *Reporter) Report(at *jsonpos.Node, format string, args ...any) *diag.Diagnostic {
	return r.add(diag.Error, at, fmt.Sprintf(format, args...))
}

// Warn adds a warning at a place and returns it.
func (r *Reporter) Warn(at *jsonpos.Node, format string, args ...any) *diag.Diagnostic {
	return r.add(diag.Warning, at, fmt.Sprintf(format, args...))
}

func (r *Reporter) add(s diag.Severity, at *jsonpos.Node, msg string) *diag.Diagnostic {
	line, column := at.Position()
	d := &diag.Diagnostic{
		File: r.File, Line: line, Column: column, Key: at.Path(),
		Msg: r.subject(at) + msg, Severity: s, Class: r.Class,
	}
	if r.counts[s]++; r.counts[s] <= maxProblems {
		r.List = append(r.List, d)
	}
	return d
}

// Finish returns the problems. If there were more than maxProblems, the last
// entries say how many are left out.
func (r *Reporter) Finish() diag.List {
	list := slices.Clip(r.List)
	for s, n := range r.counts {
		if n > maxProblems {
			list = append(list, &diag.Diagnostic{
				File: r.File, Severity: diag.Severity(s), Class: r.Class,
				Msg: fmt.Sprintf("%d more problems are not shown", n-maxProblems),
			})
		}
	}
	return list
}

// Many reports whether there are so many problems that hints, which take time
// to find, would not help.
func (r *Reporter) Many() bool { return r.counts[diag.Error] > manyProblems }

// Errors returns how many errors were reported so far.
func (r *Reporter) Errors() int { return r.counts[diag.Error] }

// subject returns `feature "x": ` for a place inside an object that has a
// label, and "" for others and for the name itself.
func (r *Reporter) subject(at *jsonpos.Node) string {
	for n := at; n != nil; n = n.Up() {
		l, ok := r.labels[n.Offset()]
		if !ok || n.Kind() != jsonpos.Object {
			continue
		}
		if at.Name() == l.key && at.Up() != nil && at.Up().Offset() == n.Offset() {
			return ""
		}
		return fmt.Sprintf("%s %s: ", l.noun, Quote(l.name))
	}
	return ""
}

// maxQuote is how much of a user's text a message shows, in bytes.
const maxQuote = 64

// maxPath is how much of a path a message shows, in bytes: as much as Linux allows.
const maxPath = 4096

// Quote returns a text from the user's file for a message: quoted, escaped and
// shortened.
func Quote(s string) string {
	if len(s) > maxQuote {
		cut := strings.ToValidUTF8(s[:maxQuote], "")
		return fmt.Sprintf("%q...", cut)
	}
	return fmt.Sprintf("%q", s)
}

// QuotePath returns a path for a message, quoted and escaped. It is whole, because a
// reader needs its end.
func QuotePath(path string) string {
	if len(path) > maxPath {
		path = path[:maxPath]
	}
	return fmt.Sprintf("%q", path)
}

// Show returns a value as it is written, shortened if it is long. For a list or
// an object it returns the kind.
func Show(n *jsonpos.Node) string {
	switch n.Kind() {
	case jsonpos.String:
		return Quote(n.Text())
	case jsonpos.Number:
		text := n.Raw()
		if len(text) > maxQuote {
			return text[:maxQuote] + "..."
		}
		return text
	case jsonpos.Bool:
		return n.Raw()
	}
	return n.Kind().String()
}

// series joins words as in "a, b or c". The parameter or is the last
// conjunction.
func series(words []string, or string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + or + " " + words[last]
}

// quoted returns each word in quotes.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return out
}
