package serving

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"millrace"
	"millrace/remote"
)

// aspired returns the folders of the versions to serve, by number. It is an error
// if the base path cannot be read.
func (c *ModelConfig) aspired() (map[int64]string, error) {
	found, err := versionsIn(c.BasePath)
	if err != nil {
		return nil, err
	}
	numbers := slices.SortedFunc(maps.Keys(found), func(a, b int64) int { return cmp.Compare(b, a) })
	var wanted []int64
	switch p := c.VersionPolicy; {
	case p.All:
		wanted = numbers
	case len(p.Specific) > 0:
		for _, n := range numbers {
			if slices.Contains(p.Specific, n) {
				wanted = append(wanted, n)
			}
		}
	default:
		wanted = numbers[:min(len(numbers), max(p.Latest, 1))]
	}
	folders := make(map[int64]string, len(wanted))
	for _, n := range wanted {
		folders[n] = found[n]
	}
	return folders, nil
}

// versionsIn returns the folders in a base path whose names are numbers.
func versionsIn(base string) (map[int64]string, error) {
	if remote.IsURL(base) {
		return versionsBelow(base)
	}
	if isSavedModel(base) {
		return map[int64]string{1: base}, nil
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		e := millrace.Errorf(millrace.ErrIO, "the base path cannot be read: %w", cause(err))
		e.File = base
		return nil, e
	}
	found := map[int64]string{}
	for _, entry := range entries { // names are sorted: 01 before 1
		n, err := strconv.ParseInt(entry.Name(), 10, 64)
		path := filepath.Join(base, entry.Name())
		if err != nil || n < 0 {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			found[n] = path
		}
	}
	return found, nil
}

// versionsBelow returns the versions below a URL. The folder of a version counts once it has the
// graph, which is written last.
func versionsBelow(base string) (map[int64]string, error) {
	base = strings.TrimSuffix(base, "/")
	found := map[int64]string{}
	for o, err := range remote.Default.List(context.Background(), base+"/") {
		if err != nil {
			return nil, err
		}
		folder, name := path.Split(strings.TrimPrefix(o.URL, base+"/"))
		if !slices.Contains(graphFiles, name) {
			continue
		}
		if folder == "" {
			return map[int64]string{1: base}, nil
		}
		number := strings.TrimSuffix(folder, "/")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 {
			found[n] = base + "/" + number
		}
	}
	return found, nil
}

// graphFiles are the names that the graph of a SavedModel may have.
var graphFiles = []string{"saved_model.pb", "saved_model.cpb"}

// isSavedModel reports whether a folder holds a SavedModel, and no versions.
func isSavedModel(dir string) bool {
	for _, name := range graphFiles {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// cause returns the system's reason for an error, without the path.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
