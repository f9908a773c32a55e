package main

import (
	"cmp"
	"go/token"
	"slices"
	"strings"
)

// edit puts text before and after a part of a file, or replaces the part.
type edit struct {
	from, to      int // offsets
	before, after string
	replace       bool // before takes the place of the part
}

// around returns the edit that puts text around a part of a file.
func around(from, to int, before, after string) edit {
	return edit{from: from, to: to, before: before, after: after}
}

// instead returns the edit that replaces a part of a file.
func instead(from, to int, text string) edit {
	return edit{from: from, to: to, before: text, replace: true}
}

// apply makes edits. Two parts are nested or disjoint. Of two edits of one part the
// earlier one in the list is the outer one.
func apply(text []byte, edits []edit) []byte {
	type piece struct {
		at, skip int
		text     string
	}
	var pieces []piece
	// Sort the outer edits before the inner ones.
	order := slices.Clone(edits)
	slices.SortStableFunc(order, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var open []edit
	closeTo := func(at int) {
		for len(open) > 0 && open[len(open)-1].to <= at {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			pieces = append(pieces, piece{last.to, 0, last.after})
		}
	}
	for _, e := range order {
		closeTo(e.from)
		if e.replace {
			pieces = append(pieces, piece{e.from, e.to - e.from, e.before})
			continue
		}
		pieces = append(pieces, piece{e.from, 0, e.before})
		open = append(open, e)
	}
	closeTo(len(text))
	var out strings.Builder
	at := 0
	for _, p := range pieces {
		out.Write(text[at:p.at])
		out.WriteString(p.text)
		at = p.at + p.skip
	}
	out.Write(text[at:])
	return []byte(out.String())
}

// lineWith returns the line of an offset as it would read with a part of the file
// replaced, without indentation. If the part has several lines it shows the first.
func lineWith(text []byte, from, to int, part string) string {
	begin, end := from, to
	for begin > 0 && text[begin-1] != '\n' {
		begin--
	}
	for end < len(text) && text[end] != '\n' {
		end++
	}
	line := string(text[begin:from]) + part + string(text[to:end])
	first, _, more := strings.Cut(strings.TrimSpace(line), "\n")
	if more {
		first += " ..."
	}
	return first
}

// span is a part of a file.
type span struct{ from, to int }

// spanOf returns the position of a part of a package's file within that file.
func spanOf(fset *token.FileSet, from, to token.Pos) span {
	return span{fset.Position(from).Offset, fset.Position(to).Offset}
}
