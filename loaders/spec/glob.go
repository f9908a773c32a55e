package spec

import (
	"errors"
	"path"
	"slices"
	"strings"

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

// parseGlob reads a pattern. The error says what is wrong with it, not which it
// is.
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

// matches reports whether the glob matches a path with slashes. Where it cannot
// go on, it goes back to the last "**" and lets that match one more folder: an
// earlier one needs no second try, because what follows it has been found as
// early as can be.
func (g glob) matches(rel string) bool {
	names := strings.Split(rel, "/")
	part, name := 0, 0
	again, from := -1, 0 // behind the last "**", and the first name it does not match
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
	ok, _ := path.Match(part, name) // parseGlob has refused what is no pattern
	return ok
}

// dataFiles says which files of a folder are data files: those that a glob
// matches or, without globs, those of the usual extension. The manifest is none, and
// so are index files.
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
