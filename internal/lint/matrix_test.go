package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"millrace/internal/test/cases"
)

// matrices are the documents with tables of facts and the tests that show them.
var matrices = []string{"docs/audit/faults.md", "docs/audit/features.md"}

// cited matches a test in a table: `loaders.TestCheckGolden/manifest_empty`.
var cited = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Example)[A-Za-z0-9_]*)(?:/([A-Za-z0-9_]+))?`")

// files are the folders of file-based subtests.
var files = map[string]string{
	"loaders.TestCheckGolden":         "loaders/testdata/check",
	"cmd/millrace.TestScripts":        "cmd/millrace/testdata/script",
	"cmd/millrace.TestRuntimeScripts": "cmd/millrace/testdata/runtime",
}

// citedCases matches the cases in parentheses after the test that runs them.
var citedCases = regexp.MustCompile("`cmd/millrace\\.TestCases` \\(([^)]*)\\)")

// All tests and cases in the tables exist.
func TestMatrix(t *testing.T) {
	archive := map[string]bool{}
	for _, name := range cases.All(t) {
		archive[name] = true
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)[A-Za-z0-9_]*)\(`)
	each(t, func(s *source) {
		if s.test() {
			for _, m := range declared.FindAllSubmatch(s.text, -1) {
				tests[path.Dir(s.path)+"."+string(m[1])] = true
			}
		}
	})
	for _, matrix := range matrices {
		text, err := os.ReadFile(filepath.Join(root, matrix))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			for _, m := range cited.FindAllStringSubmatch(line, -1) {
				name := m[1] + "." + m[2]
				if !tests[name] {
					t.Errorf("%s:%d: there is no %s", matrix, n+1, name)
				}
				if m[3] != "" && !fileTest(files[name], m[3]) {
					t.Errorf("%s:%d: there is no %s/%s", matrix, n+1, name, m[3])
				}
			}
			for _, m := range citedCases.FindAllStringSubmatch(line, -1) {
				for _, name := range strings.Split(m[1], ", ") {
					if !archive[name] {
						t.Errorf("%s:%d: there is no case %s", matrix, n+1, name)
					}
				}
			}
		}
	}
}

// fileTest reports whether a subtest's file exists.
func fileTest(dir, name string) bool {
	_, err := os.Stat(filepath.Join(root, dir, name+".txtar"))
	return dir != "" && err == nil
}
