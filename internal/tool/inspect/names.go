package inspect

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// list returns the data files relative to the folder in the order that a loader reads
// them, or "" for a path that is a file itself. If no file has the usual extension, it
// returns the files whose names look like TFRecord files or, if there are none, the
// files that begin with a record.
func (r *Report) list() ([]string, error) {
	info, err := os.Stat(r.Path)
	if err != nil {
		return nil, ioError(r.Path, err)
	}
	if !info.IsDir() {
		return []string{""}, nil
	}
	names, others, err := r.walk()
	if err != nil {
		return nil, err
	}
	likely := slices.DeleteFunc(slices.Clone(others), func(name string) bool { return spec.PatternsOf([]string{name}) == nil })
	switch {
	case len(names) > 0:
		r.ignored(names, likely)
		return names, nil
	case len(likely) > 0:
		r.Pattern = spec.PatternsOf(likely)
		names = likely
	default:
		names = slices.DeleteFunc(others, func(name string) bool { return !r.holdsRecords(name) })
		r.Pattern = shardPatterns(names)
	}
	if len(names) == 0 {
		e := millrace.Errorf(millrace.ErrConfig, "no file in this folder ends in %s, or holds TFRecords", spec.DataExtension)
		e.File = r.Path
		return nil, e
	}
	if len(r.Pattern) > 0 {
		r.note("these files do not end in %s: in a loader config, write \"pattern\": %s beside data_dir", spec.DataExtension, spec.PatternText(r.Pattern))
	} else {
		r.note("these files do not end in %s: in a loader config, name them with \"pattern\" beside data_dir, or in a list", spec.DataExtension)
	}
	return names, nil
}

// walk returns the files with the usual extension, and other visible files except the
// manifest and index files.
func (r *Report) walk() (names, others []string, err error) {
	err = filepath.WalkDir(r.Path+string(filepath.Separator), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return ioError(path, err)
		}
		rel, err := filepath.Rel(r.Path, path)
		if err != nil || e.IsDir() {
			return err
		}
		switch {
		case strings.HasSuffix(rel, spec.DataExtension):
			names = append(names, rel)
		case rel == spec.ManifestName:
			r.HasManifest = true
		case index.IsIndex(rel):
		case e.Type().IsRegular() && !strings.HasPrefix(e.Name(), "."):
			others = append(others, rel)
		}
		return nil
	})
	slices.Sort(names)
	slices.Sort(others)
	return names, others, err
}

// ignored adds a note about other files that also look like data files.
func (r *Report) ignored(names, likely []string) {
	if len(likely) == 0 {
		return
	}
	r.note("a dataset of type dir only reads files that end in %s; it ignores %s%s", spec.DataExtension, millrace.Quote(likely[0]), more(len(likely)-1))
	if patterns := spec.PatternsOf(append(slices.Clone(names), likely...)); len(patterns) > 0 {
		last := &r.Notes[len(r.Notes)-1]
		*last += "; to read all of them, write \"pattern\": " + spec.PatternText(patterns)
	}
}

// holdsRecords reports whether a file begins with a record.
func (r *Report) holdsRecords(name string) bool {
	path, o := filepath.Join(r.Path, name), &tfrecord.ReaderOptions{}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return false
	}
	return readable(path, o, compression(path, o))
}

var digits = regexp.MustCompile(`[0-9]+`)

// maxShardPatterns is the maximum number of proposed patterns for unusual names.
const maxShardPatterns = 4

// shardPatterns returns patterns of files whose names differ only in numbers. It
// returns nil if too many patterns are needed.
func shardPatterns(names []string) []string {
	var patterns []string
	for _, name := range names {
		if strings.ContainsAny(name, `*?[\`) {
			return nil
		}
		pattern := digits.ReplaceAllString(name, "*")
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	if len(patterns) > maxShardPatterns {
		return nil
	}
	return patterns
}
