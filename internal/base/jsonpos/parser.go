package jsonpos

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Error is the reason why a text is not JSON, or is too large, with the position.
type Error struct {
	Offset int // offset in bytes
	Line   int // line number from 1
	Column int // from 1, in bytes
	Msg    string
	Limit  bool // a limit of this package is exceeded; the text may be valid JSON
}

// Error returns the position and the message: "3:7: expected a comma".
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg) }

// position returns line and column of an offset, both from 1.
func position(src []byte, offset int) (line, column int) {
	before := src[:min(offset, len(src))]
	return 1 + bytes.Count(before, []byte{'\n'}), offset - bytes.LastIndexByte(before, '\n')
}

type parser struct {
	src   []byte
	at    int
	open  []int32 // cells of the lists and objects that are not closed yet
	cells []cell
}

func (p *parser) fail(offset int, format string, args ...any) *Error {
	return &Error{Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) limit(format string, args ...any) *Error {
	err := p.fail(p.at, format, args...)
	err.Limit = true
	return err
}

// document parses the whole text.
func (p *parser) document() *Error {
	if len(p.src) > MaxBytes {
		p.at = MaxBytes
		return p.limit("more than %d MiB of JSON", MaxBytes>>20)
	}
	if err := p.checkStart(); err != nil {
		return err
	}
	// Each cell but the first follows one of these characters.
	most := 1
	for _, c := range []byte(",:[{") {
		most += bytes.Count(p.src, []byte{c})
	}
	p.cells = make([]cell, 0, min(most, MaxValues))
	p.blanks()
	if p.at == len(p.src) {
		return p.fail(0, "empty: expected a JSON value")
	}
	if err := p.value(); err != nil {
		return err
	}
	if p.blanks(); p.at < len(p.src) {
		return p.fail(p.at, "%s after the end of the JSON value", p.seen())
	}
	return nil
}

// checkStart refuses other encodings than UTF-8, with a message that names the
// encoding.
func (p *parser) checkStart() *Error {
	if bytes.HasPrefix(p.src, []byte("\xef\xbb\xbf")) {
		if len(bytes.TrimSpace(p.src[3:])) == 0 {
			return p.fail(0, "empty: a byte order mark and nothing else")
		}
		return p.fail(0, "a byte order mark before the JSON; save the file without it")
	}
	if bytes.HasPrefix(p.src, []byte("\xff\xfe")) || bytes.HasPrefix(p.src, []byte("\xfe\xff")) {
		return p.fail(0, "not UTF-8 but UTF-16; save the file as UTF-8")
	}
	return nil
}

func (p *parser) blanks() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

// push appends a cell that starts here.
func (p *parser) push(kind Kind) (int32, *Error) {
	if len(p.cells) >= MaxValues {
		return 0, p.limit("more than %d values and keys", MaxValues)
	}
	p.cells = append(p.cells, cell{start: int32(p.at), kind: kind})
	return int32(len(p.cells) - 1), nil
}

// pop finishes a cell: its text ends here.
func (p *parser) pop(i int32) {
	p.cells[i].end, p.cells[i].next = int32(p.at), int32(len(p.cells))
}

func (p *parser) value() *Error {
	switch c := p.peek(); {
	case c == '{':
		return p.container(Object, '}', p.member)
	case c == '[':
		return p.container(List, ']', p.value)
	case c == '"':
		return p.scalar(String, p.string)
	case c == '-' || (c >= '0' && c <= '9'):
		return p.scalar(Number, p.number)
	}
	for _, w := range literals {
		if p.word(w.text) {
			return p.scalar(w.kind, func() *Error { p.at += len(w.text); return nil })
		}
	}
	return p.unexpected("a value")
}

// literals are the words of JSON.
var literals = []struct {
	text string
	kind Kind
}{{"null", Null}, {"true", Bool}, {"false", Bool}}

// word reports whether text comes next, followed by the end of the word.
func (p *parser) word(text string) bool {
	rest := p.src[p.at:]
	if !bytes.HasPrefix(rest, []byte(text)) {
		return false
	}
	return len(rest) == len(text) || !isWord(rest[len(text)])
}

func (p *parser) scalar(kind Kind, scan func() *Error) *Error {
	i, err := p.push(kind)
	if err != nil {
		return err
	}
	if err := scan(); err != nil {
		return err
	}
	p.pop(i)
	return nil
}

// container parses a list or an object; item parses the items between commas.
func (p *parser) container(kind Kind, closing byte, item func() *Error) *Error {
	i, err := p.push(kind)
	if err != nil {
		return err
	}
	if len(p.open) == MaxDepth {
		return p.limit("more than %d lists and objects inside one another", MaxDepth)
	}
	p.open = append(p.open, i)
	p.at++
	p.blanks()
	for n := 0; p.peek() != closing || p.at == len(p.src); n++ {
		if n > 0 {
			if err := p.comma(kind, closing); err != nil {
				return err
			}
		}
		if err := item(); err != nil {
			return err
		}
		p.blanks()
	}
	p.at++
	p.open = p.open[:len(p.open)-1]
	p.pop(i)
	return nil
}

// comma skips a comma that must be followed by another item.
func (p *parser) comma(kind Kind, closing byte) *Error {
	if p.peek() != ',' {
		return p.unexpected(fmt.Sprintf("a comma or %q", closing))
	}
	at := p.at
	p.at++
	p.blanks()
	if p.peek() == closing {
		return p.fail(at, "a comma after the last %s", map[Kind]string{List: "element", Object: "member"}[kind])
	}
	return nil
}

func (p *parser) member() *Error {
	if p.peek() != '"' {
		return p.unexpected("a key in double quotes")
	}
	if err := p.scalar(String, p.string); err != nil {
		return err
	}
	if p.blanks(); p.peek() != ':' {
		return p.unexpected("a colon after the key")
	}
	p.at++
	p.blanks()
	return p.value()
}

// unexpected returns the error for text where something else was expected.
func (p *parser) unexpected(want string) *Error {
	if p.at == len(p.src) {
		return p.ended()
	}
	for _, w := range foreignWords {
		if p.word(w.text) {
			return p.fail(p.at, "%s is not JSON; %s", w.text, w.advice)
		}
	}
	switch c := p.peek(); {
	case c == '\'':
		return p.fail(p.at, "JSON has no single quotes; use double quotes")
	case c == '/' || c == '#':
		return p.fail(p.at, "JSON has no comments")
	}
	return p.fail(p.at, "expected %s, got %s", want, p.seen())
}

// foreignWords are words of programming languages that are not JSON.
var foreignWords = []struct{ text, advice string }{
	{"NaN", "it has only finite numbers"},
	{"nan", "it has only finite numbers"},
	{"Infinity", "it has only finite numbers"},
	{"inf", "it has only finite numbers"},
	{"True", `write "true" in lower case, without quotes`},
	{"False", `write "false" in lower case, without quotes`},
	{"None", `write "null", without quotes`},
	{"undefined", `write "null", without quotes`},
}

// ended returns the error for a text that ends too early. It names the list or
// object that is not closed.
func (p *parser) ended() *Error {
	if len(p.open) == 0 {
		return p.fail(p.at, "the text ends too early")
	}
	c := p.cells[p.open[len(p.open)-1]]
	line, column := position(p.src, int(c.start))
	return p.fail(p.at, "the text ends too early: %s that starts at %d:%d is not closed", definite(c.kind), line, column)
}

// definite returns "the list" or "the object".
func definite(k Kind) string {
	if k == List {
		return "the list"
	}
	return "the object"
}

// seen describes the next character or byte, for a message.
func (p *parser) seen() string {
	rest := p.src[p.at:]
	r, n := utf8.DecodeRune(rest)
	if r == utf8.RuneError && n == 1 {
		return fmt.Sprintf("the byte 0x%02x", rest[0])
	}
	if n = 0; isWord(rest[0]) {
		for n < len(rest) && n < 32 && isWord(rest[n]) {
			n++
		}
		return fmt.Sprintf("%q", rest[:n])
	}
	return fmt.Sprintf("%q", string(r))
}
