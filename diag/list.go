package diag

import (
	"cmp"
	"slices"
	"strings"
)

// List is the problems of one or more files. Its text as an error has a line
// for each problem.
type List []*Diagnostic

// Error returns the problems, one per line, without a final newline.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is and errors.As see the problems of severity Error.
func (l List) Unwrap() []error {
	var errs []error
	for _, d := range l {
		if d.Severity == Error {
			errs = append(errs, d)
		}
	}
	return errs
}

// HasErrors reports whether a problem has severity Error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Errors returns the problems of severity Error.
func (l List) Errors() List { return l.only(Error) }

// Warnings returns the problems of severity Warning.
func (l List) Warnings() List { return l.only(Warning) }

func (l List) only(s Severity) List {
	var part List
	for _, d := range l {
		if d.Severity == s {
			part = append(part, d)
		}
	}
	return part
}

// Err returns l as an error if l holds a problem of severity Error, and nil
// otherwise. An empty List stored in an error would not be nil.
func (l List) Err() error {
	if l.HasErrors() {
		return l
	}
	return nil
}

// Sort sorts the problems by file, then by location. The order of files is the order of
// the arguments; other files follow, sorted by name. Problems at the same place keep
// their order.
func (l List) Sort(files ...string) {
	rank := func(d *Diagnostic) int {
		if i := slices.Index(files, d.File); i >= 0 {
			return i
		}
		return len(files)
	}
	slices.SortStableFunc(l, func(a, b *Diagnostic) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}
