package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// symbol matches a link from a function or type to its file.
var symbol = regexp.MustCompile("\\[`(?:[A-Za-z0-9]+(?:\\.|::))?([A-Za-z0-9_]+)`\\]\\(([^)#]+\\.(?:go|cc|h))\\)")

// linked are the pages with such links, and how many there are at least.
var linked = map[string]int{"architecture.md": 30, "packages.md": 3, "dataset.md": 4, "binding.md": 2}

// Every function and type that a page links to is in the file behind the link.
func TestSymbols(t *testing.T) {
	for name, least := range linked {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		links := symbol.FindAllStringSubmatch(string(page), -1)
		if len(links) < least {
			t.Errorf("%s has %d links to functions; this test knows another form of them", name, len(links))
		}
		for _, m := range links {
			checkSymbol(t, name, m[1], filepath.Join(filepath.Dir(name), m[2]))
		}
	}
}

// checkSymbol checks that a file declares what a page links to.
func checkSymbol(t *testing.T, page, name, path string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%s: %v", page, err)
		return
	}
	q := regexp.QuoteMeta(name)
	declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var )` + q + `\b|^\S.*::` + q + `\(|^(?:class|struct) ` + q + `\b`)
	if !declared.Match(file) {
		t.Errorf("%s: %s does not declare %s", page, path, name)
	}
}
