package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// habit is a way of writing that makes a reader stumble, and the maximum number of
// times that comments may contain it. Lower the number whenever comments improve; never
// raise it.
type habit struct {
	name    string
	matches *regexp.Regexp
	most    int
	instead string
}

var habits = []habit{
	{"is no X", regexp.MustCompile(`\b(is|are|was|were) no [a-z]+`), 93, "say what it is"},
	{"of which", regexp.MustCompile(`\bof which\b`), 27, "start a new sentence"},
	{"what hands", regexp.MustCompile(`\bwhat (hands|says|tells|makes|gives|reads|holds|comes|goes|takes)\b`), 6, "use a noun"},
	{"that of", regexp.MustCompile(`\b(that|those) of\b`), 146, "repeat the noun"},
	{"tells", regexp.MustCompile(`\b(tells?|told)\b`), 18, "reports, returns"},
	{"behind the", regexp.MustCompile(`\bbehind the\b`), 12, "after the, following the"},
	{"so many", regexp.MustCompile(`\bso (many|much)\b`), 11, "n, the number of"},
	{"of its own", regexp.MustCompile(`\bof (its|their|one's) own\b`), 19, "its own X, a separate X"},
	{"left out", regexp.MustCompile(`\b(left out|leaves? out|leaving out)\b`), 72, "skipped"},
	{"goes on", regexp.MustCompile(`\b(goes|go|went) on\b`), 11, "continues"},
	{"anew", regexp.MustCompile(`\banew\b`), 0, "again"},
	{"trailing fragment", regexp.MustCompile(`\S\s+// (of|that|by|for|in|with)\b`), 33, "a phrase that stands alone"},
}

// comment matches the rest of a line that is a comment, not the "//" of an address.
var comment = regexp.MustCompile(`(?:^|\s)//( .*)$`)

// Comments are plain English. Habits that a pattern can find are counted here; a reader
// finds the rest.
func TestProse(t *testing.T) {
	paths, err := names()
	if err != nil {
		t.Fatal(err)
	}
	count := make([]int, len(habits))
	first := make([]string, len(habits))
	for _, p := range paths {
		if !countsProse(p) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for s := range strings.Lines(string(text)) {
			line++
			s = strings.TrimRight(s, "\n")
			m := comment.FindString(s)
			if m == "" {
				continue
			}
			for i, h := range habits {
				of := m
				if strings.Contains(h.matches.String(), "//") {
					of = strings.TrimSpace(s)
				}
				if n := len(h.matches.FindAllString(of, -1)); n > 0 {
					count[i] += n
					first[i] = p + ":" + itoa(line)
				}
			}
		}
	}
	for i, h := range habits {
		t.Logf("%s: %d of at most %d", h.name, count[i], h.most)
		if count[i] > h.most {
			t.Errorf("comments contain %q %d times, more than %d, for example in %s; write instead: %s", h.name, count[i], h.most, first[i], h.instead)
		}
	}
}

// countsProse reports whether people write the comments of a file.
func countsProse(p string) bool {
	switch path.Ext(p) {
	case ".go", ".cc", ".h":
	default:
		return false
	}
	return !strings.HasSuffix(p, "_gen.go") && !strings.HasSuffix(p, ".pb.go") && p != "internal/lint/prose_test.go"
}
