package jsonpos

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote returns the value of a string that the parser has accepted.
func unquote(src []byte) string {
	body := src[1 : len(src)-1]
	for i, c := range body {
		if c == '\\' {
			return string(unescape(body, i))
		}
	}
	return string(body)
}

// escapes maps the letters of short escape sequences to their characters.
var escapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unescape returns body with its escape sequences, the first at i, replaced.
func unescape(body []byte, i int) []byte {
	out := append(make([]byte, 0, len(body)), body[:i]...)
	for i < len(body) {
		if body[i] != '\\' {
			out = append(out, body[i])
			i++
			continue
		}
		if c, ok := escapes[body[i+1]]; ok {
			out = append(out, c)
			i += 2
			continue
		}
		r := hexRune(body[i+2:])
		if i += 6; utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hexRune(body[i+2:]))
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// hexRune returns the value of four hexadecimal digits.
func hexRune(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
