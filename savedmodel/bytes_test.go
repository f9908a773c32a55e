package savedmodel

import (
	"strings"
	"testing"

	"millrace/savedmodel/message"
)

// textDepth counts brackets of every kind, but none in quotes and comments.
func TestTextDepth(t *testing.T) {
	deepest := func(bracket string) string { return strings.Repeat(bracket, message.MaxMessageDepth) }
	tests := []struct {
		name, text string
		ok         bool
		at         int
	}{
		{"braces", deepest("{"), true, 0},
		{"one brace more", deepest("{") + "{", false, message.MaxMessageDepth},
		{"angle brackets", deepest("<") + "<", false, message.MaxMessageDepth},
		{"brackets", deepest("[") + "[", false, message.MaxMessageDepth},
		{"closed in between", deepest("{") + "}" + "{", true, 0},
		{"too many closed", "}}}" + deepest("{") + "{", false, message.MaxMessageDepth + 3},
		{"in quotes", deepest("{") + `"{"` + `'{'`, true, 0},
		{"behind an escaped quote", deepest("{") + `"\"{"`, true, 0},
		{"behind quotes", deepest("{") + `"x"` + "{", false, message.MaxMessageDepth + 3},
		{"behind an open quote and a line", deepest("{") + "\"x\n{", false, message.MaxMessageDepth + 3},
		{"in an open quote", deepest("{") + `"{`, true, 0},
		{"in a comment", deepest("{") + "# {", true, 0},
		{"behind a comment", deepest("{") + "#\n{", false, message.MaxMessageDepth + 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if at, ok := textDepth([]byte(tt.text)); ok != tt.ok || !ok && at != tt.at {
				t.Errorf("textDepth = %d, %v, want %d, %v", at, ok, tt.at, tt.ok)
			}
		})
	}
}
