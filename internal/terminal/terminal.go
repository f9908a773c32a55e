// Package terminal makes text from outside safe to show on a terminal.
package terminal

import (
	"strings"
	"unicode"
)

// Line returns text as one line that a terminal shows as it is. Line breaks
// become "; " and tabs blanks; every other rune that does not print becomes
// U+FFFD. Those are control characters, which move the cursor or worse, and
// format characters, which change the order in which text is shown.
func Line(s string) string {
	s = strings.Join(strings.FieldsFunc(s, lineBreak), "; ")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r), unicode.Is(unicode.Zs, r), joins(r):
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

func lineBreak(r rune) bool { return r == '\n' || r == '\r' }

// joins reports whether r is a zero-width joiner or non-joiner, which Persian,
// Indian scripts and emoji need.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }
