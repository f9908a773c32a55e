package output

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace"
	"millrace/remote"
)

// refuse returns an error if path must not be written: path is one of the
// inputs or lies in one; or it exists and Overwrite is false; or it is not a
// regular file.
func refuse(path string, o *Options) error {
	for _, in := range o.Inputs {
		if within(path, in) {
			return refused(path, "the output must not be, or be inside, the input %s", millrace.Quote(in))
		}
	}
	if remote.IsURL(path) {
		return refuseObject(path, o)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return openError(path, err)
	case info.IsDir():
		return refused(path, "is a folder; name a file in it")
	case !info.Mode().IsRegular():
		return refused(path, "is not a regular file; use - for standard output")
	case !o.Overwrite:
		return exists(path)
	}
	return nil
}

// refuseObject is refuse for a URL.
func refuseObject(path string, o *Options) error {
	if o.Overwrite {
		return nil
	}
	_, err := remote.Default.Stat(context.Background(), path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return exists(path)
}

// exists returns the error for a file that exists.
func exists(path string) error {
	return refused(path, "exists already; name another file, or allow overwriting (--overwrite)")
}

func refused(path, format string, args ...any) error {
	err := millrace.Errorf(millrace.ErrConfig, format, args...)
	err.File = path
	return err
}

// within reports whether path is the file or folder root, or lies in it, once
// symbolic links are followed.
func within(path, root string) bool {
	if remote.IsURL(path) || remote.IsURL(root) {
		return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
	}
	path, root = resolve(path), resolve(root)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// resolve returns path absolute and without symbolic links. Parts of the path
// that do not exist stay as written.
func resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs))
	}
	return abs
}
