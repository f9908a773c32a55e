package inspect

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/loaders/spec"
	"millrace/remote"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// list returns the data files relative to the folder in the order that a loader reads
// them, or "" for a path that is a file itself. If no file has the usual extension, it
// returns the files whose names look like TFRecord files or, if there are none, the
// files that begin with a record.
func (r *Report) list() ([]string, error) {
	walk := r.walk
	if remote.IsURL(r.Path) {
		if _, err := remote.Default.Stat(context.Background(), r.Path); err == nil {
			return []string{""}, nil
		} else if !errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(r.Path, "/") {
			return nil, err
		}
		walk = r.walkObjects
	} else if info, err := os.Stat(r.Path); err != nil {
		return nil, ioError(r.Path, err)
	} else if !info.IsDir() {
		return []string{""}, nil
	}
	names, others, err := walk()
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
		r.sort(rel, e.Type().IsRegular(), &names, &others)
		return nil
	})
	slices.Sort(names)
	slices.Sort(others)
	return names, others, err
}

// walkObjects is walk for the objects below a URL.
func (r *Report) walkObjects() (names, others []string, err error) {
	folder := strings.TrimSuffix(r.Path, "/") + "/"
	for o, err := range remote.Default.List(context.Background(), folder) {
		if err != nil {
			return nil, nil, err
		}
		r.sort(strings.TrimPrefix(o.URL, folder), true, &names, &others)
	}
	return names, others, nil
}

// sort adds a file to the list where it belongs, if it does.
func (r *Report) sort(name string, regular bool, names, others *[]string) {
	switch {
	case strings.HasSuffix(name, spec.DataExtension):
		*names = append(*names, name)
	case name == spec.ManifestName:
		r.HasManifest = true
	case index.IsIndex(name):
	case regular && !strings.HasPrefix(filepath.Base(name), "."):
		*others = append(*others, name)
	}
}

// sizeOf returns the size of a file, which may be a URL.
func sizeOf(path string) (int64, error) {
	if remote.IsURL(path) {
		info, err := remote.Default.Known(context.Background(), path)
		return info.Size, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// open opens a file, which may be a URL.
func open(path string) (io.ReadCloser, error) {
	if remote.IsURL(path) {
		return remote.Open(context.Background(), path)
	}
	f, _, err := regularfile.OpenFile(path)
	return f, err
}

// pathOf returns the path of a file of a folder, which may be a URL. The name "" stands for the
// path itself.
func pathOf(folder, name string) string {
	if name == "" {
		return folder
	}
	return remote.Join(folder, name)
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
	path, o := pathOf(r.Path, name), &tfrecord.ReaderOptions{}
	if size, err := sizeOf(path); err != nil || size == 0 {
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
