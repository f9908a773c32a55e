package serving

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"millrace"
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
	for _, entry := range entries { // in the order of their names: 01 before 1
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

// isSavedModel reports whether a folder holds a SavedModel, and no versions.
func isSavedModel(dir string) bool {
	for _, name := range []string{"saved_model.pb", "saved_model.cpb"} {
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
