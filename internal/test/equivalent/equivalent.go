// Package equivalent has the list of equivalent mutants: mistakes in the code that a
// caller cannot notice. No test can find them, so the mutation score does not count
// them: it is found / (all - equivalent).
//
// An entry of equivalent.txt names the package's folder, the function, and the kinds of
// mistake. These are followed by the line of code, the line with the mistake, and the
// proof:
//
//	tfrecord Reader.fill: constant
//		- buffer := make([]byte, 0, 512)
//		+ buffer := make([]byte, 0, 513)
//		because a capacity changes no value
//
// mutate prints the first three parts for a survivor. A variable of the package has no
// function: "tfrecord: constant". Several kinds are separated by commas. Several "+"
// lines name several mistakes, and without one the entry holds for every mistake of
// those kinds in the line. Indentation and alignment are ignored. A text without a tab
// before it that begins with "#" is a comment.
package equivalent

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Entry is a place in the code and the mistakes there that callers cannot notice.
type Entry struct {
	Line     int      // line number in the list
	Package  string   // its folder: "loaders/build"
	Function string   // "columns" or "parser.columns"; "" outside of functions
	Kinds    []string // kinds of mistakes: "boundary"
	Was      string   // the line of code
	Now      []string // the line with each mistake; nil: any mistake
	Because  string   // why callers cannot notice it
}

//go:embed equivalent.txt
var list string

// List returns the entries of equivalent.txt.
func List() ([]Entry, error) { return Read(list) }

// Read returns the entries of a list.
func Read(text string) (all []Entry, err error) {
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case strings.TrimSpace(line) == "", line[0] == '#':
			continue
		case line[0] != '\t':
			var e Entry
			e, err = header(line)
			e.Line = n
			all = append(all, e)
		case len(all) == 0:
			err = errors.New("no package and function come before it")
		default:
			err = all[len(all)-1].add(line[1:])
		}
		if err != nil {
			return nil, fmt.Errorf("equivalent.txt:%d: %w", n, err)
		}
	}
	for _, e := range all {
		if e.Was == "" || e.Because == "" {
			return nil, fmt.Errorf(`equivalent.txt:%d: the entry needs a line "- code" and a line "because ..."`, e.Line)
		}
	}
	return all, lines.Err()
}

// header reads the first line of an entry.
func header(line string) (e Entry, err error) {
	place, kinds, ok := strings.Cut(line, ": ")
	if !ok {
		return e, fmt.Errorf(`want "folder function: kind", got %q`, line)
	}
	e.Package, e.Function, _ = strings.Cut(place, " ")
	e.Kinds = strings.Split(kinds, ", ")
	return e, nil
}

// add reads another line of an entry.
func (e *Entry) add(line string) error {
	mark, text, _ := strings.Cut(line, " ")
	switch text = words(text); {
	case mark == "-" && e.Was == "":
		e.Was = text
	case mark == "+":
		e.Now = append(e.Now, text)
	case mark == "because":
		e.Because = text
	default:
		return fmt.Errorf(`want one line "- code", lines "+ code" or "because ...", got %q`, line)
	}
	return nil
}

// Matches reports whether an entry is about a mistake. The entry's package and
// function are compared before.
func (e *Entry) Matches(kind, was, now string) bool {
	return slices.Contains(e.Kinds, kind) && e.Was == words(was) &&
		(e.Now == nil || slices.Contains(e.Now, words(now)))
}

// words returns a line of code with one space wherever it has white space.
func words(line string) string { return strings.Join(strings.Fields(line), " ") }
