//go:build cgo

package tfbridge

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tails match useless endings of TensorFlow's messages: advice about Python modules,
// the whole definition of an operation that the message already names, and a question
// about a file that it does not name.
var tails = regexp.MustCompile(`(?s)( in binary running on \S+)?\. Make sure the Op and Kernel are registered.*?first accessed\.` +
	`| while building NodeDef '[^']*'( using Op<name=.*>)?` +
	`| \(Is this even a TFRecord file\?\)`)

// breaks match the ends of lines and the blanks around them.
var breaks = regexp.MustCompile(`\s*\n\s*`)

// shorten removes useless endings from a message of TensorFlow. It is for display only:
// Msg keeps the whole message, and no decision depends on either.
func shorten(msg string) string {
	return breaks.ReplaceAllLiteralString(tails.ReplaceAllLiteralString(msg, ""), " ")
}

const (
	maxMessage = 1024 // maximum bytes of a message that are shown
	maxForeign = 64   // maximum bytes that are shown after the first byte that is not text
)

// printable escapes bytes that do not print. TensorFlow copies the bytes of records
// into some messages, so only a few bytes are shown after the first such byte.
func printable(msg string) string {
	var b strings.Builder
	end := min(len(msg), maxMessage)
	strange := false
	for i := 0; i < end; {
		r, size := utf8.DecodeRuneInString(msg[i:])
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && size == 1 || !unicode.IsPrint(r):
			if !strange {
				strange, end = true, min(end, i+maxForeign)
			}
			fmt.Fprintf(&b, "%s", escape(msg[i:i+size]))
		default:
			b.WriteString(msg[i : i+size])
		}
		i += size
	}
	if end < len(msg) {
		b.WriteString("...")
	}
	return b.String()
}

// escape writes each byte as \xNN.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String()
}
