package spec

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/figures"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// dataFiles returns which files the config asks for. It is false after a
// problem.
func (c *checker) dataFiles(a *DirArgs) (dataFiles, bool) {
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
func (c *checker) glob(at *jsonpos.Node, text string) (glob, bool) {
	g, err := parseGlob(text)
	if err != nil {
		c.inConfig.Report(at, "the pattern %s %v", decl.Quote(text), err)
	}
	return g, err == nil
}

// maxOthers is how many files that are no data files a message names.
const maxOthers = 3

// noDataFile reports a folder without a data file, and what it holds instead.
func (c *checker) noDataFile(a *DirArgs, dir string, others []string) {
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
