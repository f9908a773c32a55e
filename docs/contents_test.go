package docs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contents encloses the table of contents of rationale.md.
var contents = regexp.MustCompile(`(?s)<!-- contents -->\n.*<!-- end of contents -->\n`)

// anchorless matches the characters that a heading's anchor lacks.
var anchorless = regexp.MustCompile(`[^\w -]`)

// The table of contents of rationale.md lists every question. With -update the
// test writes the table.
func TestContents(t *testing.T) {
	page, err := os.ReadFile("rationale.md")
	if err != nil {
		t.Fatal(err)
	}
	found := contents.FindIndex(page)
	if found == nil {
		t.Fatal("rationale.md has no table of contents")
	}
	want := "<!-- contents -->\n" + tableOfContents(string(page)) + "<!-- end of contents -->\n"
	got := string(page[found[0]:found[1]])
	if *update {
		updated := string(page[:found[0]]) + want + string(page[found[1]:])
		if err := os.WriteFile("rationale.md", []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rationale.md: run go test ./docs -run TestContents -update (-want +got):\n%s", diff)
	}
}

// tableOfContents links to the headings of a page, a list for each section.
func tableOfContents(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if section, ok := strings.CutPrefix(line, "## "); ok {
			fmt.Fprintf(&b, "\n**[%s](#%s)**\n\n", section, anchor(section))
		} else if question, ok := strings.CutPrefix(line, "### "); ok {
			fmt.Fprintf(&b, "- [%s](#%s)\n", question, anchor(question))
		}
	}
	return b.String() + "\n"
}

// anchor returns the anchor that Markdown renderers give a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(anchorless.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
