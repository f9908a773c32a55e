package jsonpos

import (
	"unicode/utf16"
	"unicode/utf8"
)

// number scans a number: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (p *parser) number() *Error {
	start := p.at
	if p.peek() == '-' {
		p.at++
		for _, w := range []string{"Infinity", "inf", "NaN", "nan"} {
			if p.word(w) {
				return p.fail(start, "-%s is not JSON; it has only finite numbers", w)
			}
		}
	}
	zero := p.peek() == '0'
	switch n := p.digits(); {
	case n == 0:
		return p.unexpected("a digit")
	case zero && n > 1:
		return p.fail(start, "a number starts with a needless 0")
	}
	if p.peek() == '.' {
		p.at++
		if p.digits() == 0 {
			return p.unexpected("a digit after the decimal point")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if p.digits() == 0 {
			return p.unexpected("a digit of the exponent")
		}
	}
	if isWord(p.peek()) {
		return p.fail(p.at, "expected the end of the number, got %s", p.seen())
	}
	return nil
}

// digits skips digits and returns their number.
func (p *parser) digits() int {
	start := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at - start
}

// string scans a string with its quotes and checks its contents.
func (p *parser) string() *Error {
	start := p.at
	p.at++
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			return nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		case c == '\n' || c == '\r':
			return p.fail(p.at, "the string that starts at column %d does not end on its line", p.column(start))
		case c == 0:
			return p.fail(p.at, "a string holds a NUL")
		case c < ' ':
			return p.fail(p.at, "a string holds the control character 0x%02x; write it as \\u%04x", c, c)
		case c < utf8.RuneSelf:
			p.at++
		default:
			r, n := utf8.DecodeRune(p.src[p.at:])
			if r == utf8.RuneError && n == 1 {
				return p.fail(p.at, "the byte 0x%02x is not UTF-8", c)
			}
			p.at += n
		}
	}
	line, column := position(p.src, start)
	return p.fail(p.at, "the text ends too early: the string that starts at %d:%d is not closed", line, column)
}

func (p *parser) column(offset int) int {
	_, column := position(p.src, offset)
	return column
}

// escape scans one escape sequence, or the two that form a surrogate pair.
func (p *parser) escape() *Error {
	start := p.at
	p.at++
	switch c := p.peek(); c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.at++
		return nil
	case 'u':
	default:
		if p.at == len(p.src) {
			return p.ended()
		}
		return p.fail(start, "no escape sequence starts with a backslash and %s", p.seen())
	}
	first, err := p.hex(start)
	if err != nil {
		return err
	}
	if first == 0 {
		return p.fail(start, "a string holds a NUL")
	}
	if !utf16.IsSurrogate(first) {
		return nil
	}
	if p.peek() == '\\' && p.at+1 < len(p.src) && p.src[p.at+1] == 'u' {
		p.at++
		second, err := p.hex(p.at - 1)
		if err != nil {
			return err
		}
		if utf16.DecodeRune(first, second) != utf8.RuneError {
			return nil
		}
	} else if p.at == len(p.src) {
		return p.ended()
	}
	return p.fail(start, "half of a surrogate pair: \\u%04x alone is no character", first)
}

// hex scans a 'u' and four hexadecimal digits.
func (p *parser) hex(start int) (rune, *Error) {
	p.at++
	var r rune
	for range 4 {
		c := p.peek()
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		case p.at == len(p.src):
			return 0, p.ended()
		default:
			return 0, p.fail(start, `\u must be followed by four hexadecimal digits`)
		}
		p.at++
	}
	return r, nil
}
