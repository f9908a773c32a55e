package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// home is the only package that may call some functions, because it adds steps that
// each caller would have to remember.
type home struct {
	path   string   // path of the package
	calls  []string // functions of the standard library
	why    string
	others map[string]string // files that may call them too, and why
}

var homes = []home{
	{
		path: "internal/base/regularfile", calls: []string{"os.Open", "os.ReadFile", "zip.OpenReader", "elf.Open"},
		why: "it would wait for the writer of a FIFO, and take memory for a file with holes: use regularfile.OpenFile or regularfile.ReadFile",
		others: map[string]string{
			"estimator/checkpoint/files.go":      "syncs files that it has written",
			"loaders/writer/part.go":             "locks a folder",
			"internal/base/scratch/scratch.go":   "locks a folder",
			"internal/tool/install/sys_linux.go": "locks a folder",
			"internal/base/atomicfile":           "syncs a folder",
			"internal/base/machine/machine.go":   "reads files of the kernel's",
			"internal/base/machine/process.go":   "reads files of the kernel's",
			"internal/tool/ops/_templates/go":    "is an example",
			"bench":                              "reads files that it has written",
			"examples":                           "is an example",
			"gen":                                "reads the sources of this repository",
			"mutate":                             "reads the sources of this repository",
			"internal/test":                      "serves tests",
		},
	},
	{
		path: "internal/base/atomicfile", calls: []string{"os.WriteFile", "os.Create", "os.CreateTemp", "os.Rename", "unix.Rename", "unix.Renameat2"},
		why: "a failure would leave half a file, and a FIFO that has its name would wait for a reader: use package atomicfile",
		others: map[string]string{
			"estimator/export/export.go":       "writes to a folder that it renames",
			"internal/tool/install":            "writes to a folder that it renames",
			"internal/tool/mixing/copy.go":     "writes to a folder that it removes",
			"internal/base/oplibrary/stamp.go": "writes beside a library that is being made",
			"internal/tool/ops":                "writes to a folder that it makes",
			"internal/tool/output/npz.go":      "removes the file's name at once",
			"savedmodel/stage.go":              "writes to a private folder",
			"bench":                            "makes data to measure with",
			"gen":                              "writes the sources of this repository",
			"mutate":                           "changes copies of the sources",
			"internal/test":                    "serves tests",
		},
	},
}

// Functions with a home are only called there.
func TestHomes(t *testing.T) {
	for _, h := range homes {
		used := map[string]bool{}
		each(t, func(s *source) {
			if s.test() || strings.HasPrefix(s.path, h.path+"/") {
				return
			}
			for _, call := range calls(s, h.calls) {
				if other := h.allows(s.path); other != "" {
					used[other] = true
				} else {
					t.Errorf("%s: %s", call, h.why)
				}
			}
		})
		for other := range h.others {
			if !used[other] {
				t.Errorf("%s calls none of %v any more: remove it from the list", other, h.calls)
			}
		}
	}
}

// allows returns the entry that allows a file to make the calls, "" if there is none.
func (h *home) allows(path string) string {
	for other := range h.others {
		if path == other || strings.HasPrefix(path, other+"/") {
			return other
		}
	}
	return ""
}

// calls returns the places in a file that name one of the functions.
func calls(s *source, names []string) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if ok && slices.Contains(names, pkg.Name+"."+sel.Sel.Name) {
			found = append(found, fmt.Sprintf("%s: %s.%s", s.at(sel.Pos()), pkg.Name, sel.Sel.Name))
		}
		return true
	})
	return found
}
