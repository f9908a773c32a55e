package remote

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"millrace"
)

// Upload copies the files of a folder to a URL with the [Default] client, whole or not at all
// for readers that wait for the file named last: it is copied after all others. Objects that are
// there already are an error of class millrace.ErrConfig. After an error the objects that were
// written are removed.
func Upload(ctx context.Context, dir, url, last string) error {
	there, err := below(ctx, Default, url)
	if err != nil {
		return err
	}
	for name := range there {
		e := millrace.Errorf(millrace.ErrConfig, "there are objects below this URL; %s, for one. Name another URL, or remove them", millrace.Quote(name))
		e.File = public(url)
		return e
	}
	names, err := filesIn(dir, last)
	if err != nil {
		return err
	}
	for i, name := range names {
		if err := copyFrom(ctx, Default, filepath.Join(dir, name), Join(url, filepath.ToSlash(name))); err != nil {
			for _, written := range names[:i] {
				err = errors.Join(err, Remove(context.WithoutCancel(ctx), Join(url, filepath.ToSlash(written))))
			}
			return err
		}
	}
	return nil
}

// filesIn returns the names of the files of a folder, sorted, one of them last.
func filesIn(dir, last string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if i := slices.Index(names, last); i >= 0 {
		names = append(slices.Delete(names, i, i+1), last)
	}
	return names, diskError(dir, err)
}

// copyFrom copies a file to an object.
func copyFrom(ctx context.Context, c *Client, path, url string) error {
	from, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return diskError(path, err)
	}
	defer from.Close()
	to, err := c.Create(ctx, url)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := from.WriteTo(to); err != nil {
		return diskError(path, err)
	}
	return to.Commit()
}
