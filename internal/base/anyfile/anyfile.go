// Package anyfile reads, lists and removes what a path names: a file, or an object if the
// path is a URL of package remote.
//
// Errors about a file come from packages os and regularfile, for the caller to say what it was
// doing. Errors about an object say that already.
package anyfile

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// ReadFile returns the content of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	if remote.IsURL(path) {
		return remote.ReadFile(context.Background(), path, limit)
	}
	return regularfile.ReadFile(path, limit)
}

// Size returns the number of bytes.
func Size(path string) (int64, error) {
	if remote.IsURL(path) {
		info, err := remote.Default.Stat(context.Background(), path)
		return info.Size, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Remove removes what is there. It does nothing where nothing is.
func Remove(path string) error {
	if remote.IsURL(path) {
		return remote.Remove(context.Background(), path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Names returns the names of the files and folders in a folder, or of the objects directly below a URL.
func Names(dir string) ([]string, error) {
	if remote.IsURL(dir) {
		return remote.Names(context.Background(), dir+"/")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}
