// Package terminal makes text from outside safe to show on a terminal.
package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns text as one line that is safe to show on a terminal. Line breaks become
// "; " and tabs become spaces. Every other rune that is not printable becomes U+FFFD:
// control characters, which move the cursor or worse, and format characters, which
// change the order of the text.
func Line(s string) string {
	return strings.Map(shown, strings.Join(strings.FieldsFunc(s, lineBreak), "; "))
}

// Text is [Line] for text of several lines: it keeps line breaks.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return shown(r)
	}, s)
}

// AppendJSON appends JSON text to b and replaces each rune that is not printable by an
// escape sequence, which parses to the same value. The text must be valid JSON, in
// which such runes only occur in strings.
func AppendJSON(b, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r < ' ' || shown(r) == r: // line breaks between values
			b = append(b, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b
}

// shown returns the replacement of a rune for a terminal.
func shown(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case unicode.IsPrint(r), unicode.Is(unicode.Zs, r), joins(r):
		return r
	}
	return unicode.ReplacementChar
}

func lineBreak(r rune) bool { return r == '\n' || r == '\r' }

// joins reports whether r is a zero-width joiner or non-joiner, which Persian,
// Indian scripts and emoji need.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }
