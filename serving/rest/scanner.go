package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"millrace"
)

/*
Why not encoding/json

Requests may hold NaN, Infinity and -Infinity as bare words, which TensorFlow
Serving takes and writes, and which are no JSON. And a tensor of a million numbers
as []any takes 40 bytes and an allocation for each. The scanner goes through the
body once and hands each token to whoever makes a tensor of it.
*/

// maxDepth is how deep lists and objects may nest.
const maxDepth = 300

// scanner reads a JSON document from its start.
type scanner struct {
	text  []byte
	at    int
	depth int
}

// errorf returns an error with the place in the document.
func (s *scanner) errorf(format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, "JSON Parse error: "+format, args...)
	e.Offset = int64(s.at)
	return e
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// shown returns the beginning of the next token for messages.
func (s *scanner) shown() string {
	if s.peek() == 0 && s.at >= len(s.text) {
		return "the end"
	}
	return millrace.QuoteData(s.text[s.at:min(len(s.text), s.at+20)])
}

// expect reads a given byte.
func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.errorf("want %q, got %s", c, s.shown())
	}
	s.at++
	return nil
}

// list calls element for each element of a list; element reads it.
func (s *scanner) list(element func(i int) error) (n int, err error) {
	return s.sequence('[', ']', element)
}

// object calls member for each member of an object; member reads its value.
func (s *scanner) object(member func(key string) error) error {
	_, err := s.sequence('{', '}', func(int) error {
		key, err := s.string()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return member(string(key))
	})
	return err
}

// sequence calls element for each element between brackets.
func (s *scanner) sequence(open, end byte, element func(i int) error) (n int, err error) {
	if err := s.expect(open); err != nil {
		return 0, err
	}
	if s.depth++; s.depth > maxDepth {
		return 0, s.errorf("lists and objects nest deeper than %d", maxDepth)
	}
	defer func() { s.depth-- }()
	if s.peek() == end {
		s.at++
		return 0, nil
	}
	for ; ; n++ {
		if err := element(n); err != nil {
			return n, err
		}
		switch s.peek() {
		case ',':
			s.at++
		case end:
			s.at++
			return n + 1, nil
		default:
			return n, s.errorf("want ',' or %q, got %s", end, s.shown())
		}
	}
}

// string reads a string and returns its unescaped value.
func (s *scanner) string() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	start, escaped := s.at, false
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			raw := s.text[start:s.at]
			s.at++
			if !escaped {
				return raw, nil
			}
			return s.unescape(s.text[start-1 : s.at])
		case c == '\\':
			escaped = true
			s.at++
		case c < ' ':
			return nil, s.errorf("the string holds the control character %#02x", c)
		}
	}
	s.at = len(s.text)
	return nil, s.errorf("the string has no end")
}

// unescape returns the value of a quoted string.
func (s *scanner) unescape(quoted []byte) ([]byte, error) {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return nil, s.errorf("%w", err)
	}
	return []byte(text), nil
}

// isB64 reports whether the next value is bytes in base64: {"b64": "..."}.
func (s *scanner) isB64() bool {
	look := *s
	n, is := 0, true
	err := look.object(func(key string) error {
		if n++; n > 1 || key != "b64" || look.peek() != '"' {
			is = false
		}
		if !is {
			return look.errorf("another object")
		}
		_, err := look.string()
		return err
	})
	return err == nil && n == 1
}

// b64 reads bytes in base64, with or without padding.
func (s *scanner) b64() (raw []byte, err error) {
	if !s.isB64() {
		return nil, s.errorf(`want {"b64": "..."}, got %s`, s.shown())
	}
	err = s.object(func(string) error {
		text, err := s.string()
		if err != nil {
			return err
		}
		raw, err = decodeBase64(text)
		if err != nil {
			return s.errorf("%w", err)
		}
		return nil
	})
	return raw, err
}

// decodeBase64 decodes base64 with or without padding.
func decodeBase64(text []byte) ([]byte, error) {
	text = bytes.TrimRight(text, "=")
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := base64.RawStdEncoding.Decode(raw, text)
	return raw[:n], err
}

// words are the values that are neither numbers nor strings, and the numbers that are
// written as words.
var words = []string{"true", "false", "null", "NaN", "-NaN", "Infinity", "-Infinity", "Inf", "-Inf"}

// scalar reads a number or a word and returns its text.
func (s *scanner) scalar() ([]byte, error) {
	c := s.peek()
	rest := s.text[s.at:]
	if c >= '0' && c <= '9' {
		return s.number(rest)
	}
	for _, word := range words {
		if bytes.HasPrefix(rest, []byte(word)) && !continues(rest[len(word):]) {
			s.at += len(word)
			return rest[:len(word)], nil
		}
	}
	return s.number(rest)
}

// number returns the number at the start of rest.
func (s *scanner) number(rest []byte) ([]byte, error) {
	n := numberLength(rest)
	if n == 0 || continues(rest[n:]) {
		return nil, s.errorf("want a value, got %s", s.shown())
	}
	s.at += n
	return rest[:n], nil
}

// continues reports whether a word or number would continue with text.
func continues(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	c := text[0]
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == '_' || c == '+' || c == '-'
}

// numberLength returns how many bytes at the start of text are a JSON number.
func numberLength(text []byte) int {
	i := 0
	if i < len(text) && text[i] == '-' {
		i++
	}
	start := i
	if i = digits(text, i); i == start {
		return 0
	}
	if text[start] == '0' {
		i = start + 1 // nothing but a fraction or an exponent follows a leading zero
	}
	if i < len(text) && text[i] == '.' {
		start = i + 1
		if i = digits(text, start); i == start {
			return 0
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		start = i + 1
		if start < len(text) && (text[start] == '+' || text[start] == '-') {
			start++
		}
		if i = digits(text, start); i == start {
			return 0
		}
	}
	return i
}

// digits returns the end of the digits that begin at i.
func digits(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// stops are the bytes at which jump stops.
var stops = func() (stops [256]bool) {
	for _, c := range `[]{}"` {
		stops[c] = true
	}
	return stops
}()

// jump goes to the end of a list or object, and looks only at brackets and strings in
// it: other mistakes are found when the value is read. If there is no list or object,
// or no end, it returns false and does not move.
func (s *scanner) jump() bool {
	depth := 0
	for i := s.at; i < len(s.text); i++ {
		c := s.text[i]
		if depth > 0 && !stops[c] {
			continue
		}
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				s.at = i + 1
				return true
			}
		case '"':
			for i++; i < len(s.text) && s.text[i] != '"'; i++ {
				if s.text[i] == '\\' {
					i++
				}
			}
		}
		if depth == 0 {
			return false
		}
	}
	return false
}

// skip reads a value of any kind and returns its text.
func (s *scanner) skip() ([]byte, error) {
	c := s.peek()
	start := s.at
	var err error
	switch c {
	case '{':
		err = s.object(func(string) error { _, err := s.skip(); return err })
	case '[':
		_, err = s.list(func(int) error { _, err := s.skip(); return err })
	case '"':
		_, err = s.string()
	default:
		_, err = s.scalar()
	}
	return s.text[start:s.at], err
}
