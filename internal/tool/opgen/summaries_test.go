package opgen

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// summaryLine matches an operation, a tab, and the text after its name in a comment: a
// verb in the third person first, a period last.
var summaryLine = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*\t[a-z]+s [ -~]+[^ .]\.$`)

// The summaries are one short sentence for each operation, sorted by name.
func TestSummaryLines(t *testing.T) {
	data, err := os.ReadFile("summaries.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutSuffix(string(data), "\n")
	if !ok {
		t.Error("summaries.txt doesn't end with a line break")
	}
	last := ""
	of := map[string]string{} // the operation of each sentence
	for i, line := range strings.Split(text, "\n") {
		if !summaryLine.MatchString(line) {
			t.Errorf("line %d: %q is not an operation, a tab and a sentence", i+1, line)
			continue
		}
		op, sentence, _ := strings.Cut(line, "\t")
		if op <= last {
			t.Errorf("line %d: %s comes after %s", i+1, op, last)
		}
		last = op
		if n := len(sentence); n > 140 {
			t.Errorf("line %d: the sentence of %s has %d characters", i+1, op, n)
		}
		if n := len(strings.Fields(sentence)); n < 6 || n > 16 {
			t.Errorf("line %d: the sentence of %s has %d words", i+1, op, n)
		}
		if other := of[sentence]; other != "" {
			t.Errorf("line %d: %s and %s have the same sentence", i+1, other, op)
		}
		of[sentence] = op
	}
}
