package spec

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/figures"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/tfrecord/index"
)

// glob is a pattern of paths relative to a dataset's folder, in its parts between
// slashes. A part matches one name, by the rules of [path.Match]; the part "**"
// matches any number of folders.
//
//	*.tfrecord-*-of-*   a.tfrecord-00000-of-00002, and nothing in a folder
//	**/*.rec            a.rec, 2024/05/a.rec
//	2024/**             every file below 2024
type glob []string

// anyDepth is the part that matches any number of folders.
const anyDepth = "**"

// parseGlob reads a pattern. The error does not repeat the pattern.
func parseGlob(text string) (glob, error) {
	g := glob(strings.Split(text, "/"))
	for _, part := range g {
		switch {
		case part == "":
			return nil, errors.New("begins or ends with a slash, or has two in a row; it is matched with paths relative to data_dir")
		case part == "." || part == "..":
			return nil, errors.New("has the part " + part + "; it is matched with paths relative to data_dir, which have none")
		case part != anyDepth && strings.Contains(part, anyDepth):
			return nil, errors.New("has ** within a name; between slashes it matches folders at any depth, as in \"**/*.tfrecord\"")
		}
		if _, err := path.Match(part, ""); err != nil {
			return nil, errors.New("has a [ without its ], an empty [], or a backslash at the end")
		}
	}
	return g, nil
}

// matches reports whether the glob matches a path with slashes. After a mismatch it
// returns to the last "**" and extends its match by one folder. It need not try other
// matches of an earlier "**": the parts after that one were matched as early as possible.
func (g glob) matches(rel string) bool {
	names := strings.Split(rel, "/")
	part, name := 0, 0
	again, from := -1, 0 // the part after the last "**", and the first name that this "**" does not match
	for name < len(names) {
		switch {
		case part < len(g) && g[part] == anyDepth:
			again, from = part+1, name
			part++
		case part < len(g) && matchesName(g[part], names[name]):
			part++
			name++
		case again >= 0:
			from++
			part, name = again, from
		default:
			return false
		}
	}
	return !slices.ContainsFunc(g[part:], func(p string) bool { return p != anyDepth })
}

func matchesName(part, name string) bool {
	ok, _ := path.Match(part, name) // parseGlob refuses malformed patterns
	return ok
}

// dataFiles selects the data files of a folder: the files that a glob matches or, without
// globs, the files with the usual extension. It skips the manifest and index files.
type dataFiles []glob

func (d dataFiles) has(rel string) bool {
	switch {
	case rel == ManifestName, index.IsIndex(rel):
		return false
	case d == nil:
		return strings.HasSuffix(rel, DataExtension)
	}
	return slices.ContainsFunc(d, func(g glob) bool { return g.matches(rel) })
}

// dataFiles returns which files the config asks for. It is false after a
// problem.
func (c datasetPart) dataFiles(a *DirArgs) (dataFiles, bool) {
	if a.Bad("pattern") {
		return nil, false
	}
	at := a.Key("pattern")
	switch {
	case a.Pattern.A != nil:
		g, ok := c.glob(at, *a.Pattern.A)
		return dataFiles{g}, ok
	case a.Pattern.B == nil:
		return nil, true
	}
	found, all := dataFiles{}, true
	for i, text := range *a.Pattern.B {
		g, ok := c.glob(at.Elem(i), text)
		found, all = append(found, g), all && ok
	}
	return found, all
}

// glob reads one pattern.
func (c datasetPart) glob(at *jsonpos.Node, text string) (glob, bool) {
	g, err := parseGlob(text)
	if err != nil {
		c.inConfig.Report(at, "the pattern %s %v", decl.Quote(text), err)
	}
	return g, err == nil
}

// maxOthers is the number of skipped files that a message names at most.
const maxOthers = 3

// noDataFile reports a folder without data files, and names other files in it.
func (c datasetPart) noDataFile(a *DirArgs, dir string, others []string) {
	var d *diag.Diagnostic
	if a.Has("pattern") {
		d = c.inConfig.Report(a.Key("pattern"), "matches no file of data_dir")
	} else {
		d = c.inConfig.Report(a.Key("data_dir"), "no %s file in %s", DataExtension, millrace.Quote(dir))
	}
	if len(others) == 0 {
		return
	}
	likelyFirst(others)
	var names []string
	for _, name := range others[:min(len(others), maxOthers)] {
		names = append(names, millrace.Quote(name))
	}
	d.Hint = "it holds " + strings.Join(names, ", ")
	if more := len(others) - len(names); more > 0 {
		d.Hint += " and " + figures.Count(int64(more)) + " more"
	}
	if patterns := PatternsOf(others); len(patterns) > 0 {
		d.Hint += "; to read them, write \"pattern\": " + PatternText(patterns)
	} else if !a.Has("pattern") {
		d.Hint += "; the key \"pattern\" beside data_dir says which are data files"
	}
}

// likelyFirst sorts paths of files, those whose names look like those of TFRecord
// files first.
func likelyFirst(files []string) {
	rank := func(file string) int {
		if usual.MatchString(path.Base(file)) {
			return 0
		}
		return 1
	}
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

var (
	// usual matches what names of TFRecord files have in common, up to the end:
	// the extension in all its spellings, and the number of a shard.
	usual  = regexp.MustCompile(`(?i)([._-]tf_?rec(ords?)?|-[0-9]+-of-[0-9]+)([._-].*)?$`)
	digits = regexp.MustCompile(`[0-9]+`)
)

// maxPatterns is how many patterns a hint proposes at most.
const maxPatterns = 4

// PatternsOf proposes values of "pattern" that match those of the files, given by
// their paths relative to the dataset's folder, whose names look like those of
// TFRecord files. It returns nil if none does, or if their names have too little
// in common.
func PatternsOf(files []string) []string {
	var patterns []string
	deep := false
	for _, file := range files {
		folder, name := path.Split(file)
		at := usual.FindStringIndex(name)
		if at == nil || strings.ContainsAny(name[at[0]:], `*?[\`) {
			continue
		}
		deep = deep || folder != ""
		pattern := "*" + digits.ReplaceAllString(name[at[0]:], "*")
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	if len(patterns) > maxPatterns {
		return nil
	}
	slices.SortFunc(patterns, cmp.Compare)
	if deep {
		for i, p := range patterns {
			patterns[i] = anyDepth + "/" + p
		}
	}
	return patterns
}

// PatternText returns patterns as a config has them: one as a string, several as
// a list.
func PatternText(patterns []string) string {
	texts := make([]string, len(patterns))
	for i, p := range patterns {
		text, err := json.Marshal(p)
		if err != nil {
			return "" // strings always have a JSON form
		}
		texts[i] = string(text)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
