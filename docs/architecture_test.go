package docs

import (
	"os"
	"regexp"
	"testing"
)

// symbol matches a link from a function or type to its file.
var symbol = regexp.MustCompile("\\[`(?:[A-Za-z0-9]+(?:\\.|::))?([A-Za-z0-9]+)`\\]\\(([^)#]+\\.(?:go|cc|h))\\)")

// Every function and type that architecture.md links to is in the file behind
// the link.
func TestArchitecture(t *testing.T) {
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	links := symbol.FindAllStringSubmatch(string(page), -1)
	if len(links) < 30 {
		t.Fatalf("architecture.md has %d links to functions; this test knows another form of them", len(links))
	}
	for _, m := range links {
		name, path := m[1], m[2]
		file, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		q := regexp.QuoteMeta(name)
		declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var )` + q + `\b|^\S.*::` + q + `\(|^(?:class|struct) ` + q + `\b`)
		if !declared.Match(file) {
			t.Errorf("architecture.md: %s does not declare %s", path, name)
		}
	}
}
