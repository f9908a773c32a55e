package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// changes are the lines that a change touches, by file with its path from the module's
// folder. Nil stands for all lines of all files.
type changes map[string]map[int]bool

// has reports whether a line is to be mutated.
func (c changes) has(file string, line int) bool { return c == nil || c[file][line] }

// hunk matches the head of a part of a diff, with the place of its new lines.
var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// changedLines returns the lines that differ from the base revision.
func changedLines(ctx context.Context, w *workshop) (changes, error) {
	if w.base == "" {
		return nil, nil
	}
	// The diff is against the common ancestor: what the base has gained since then is
	// not part of the change.
	diff, err := w.output(ctx, "git", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--relative", "--merge-base", w.base, "--", "*.go")
	if err != nil {
		return nil, err
	}
	return parseDiff(diff), nil
}

func parseDiff(diff []byte) changes {
	lines, file := changes{}, ""
	for in := bufio.NewScanner(bytes.NewReader(diff)); in.Scan(); {
		if name, ok := strings.CutPrefix(in.Text(), "+++ b/"); ok {
			file = name
		}
		m := hunk.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		first, _ := strconv.Atoi(m[1])
		n := 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		for line := first; line < first+n; line++ {
			if lines[file] == nil {
				lines[file] = map[int]bool{}
			}
			lines[file][line] = true
		}
	}
	return lines
}

// patterns returns the packages of changed files in a module's folder, as the go
// command takes them. A folder with its own go.mod is another module.
func (c changes) patterns(module string) (dirs []string) {
	for file := range c {
		dir := path.Dir(file)
		pattern := "./" + dir
		if strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/testdata/") || slices.Contains(dirs, pattern) || foreign(module, dir) {
			continue
		}
		dirs = append(dirs, pattern)
	}
	slices.Sort(dirs)
	return dirs
}

// foreign reports whether a folder belongs to another module within that one.
func foreign(module, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(module, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}
