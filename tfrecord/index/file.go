package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
	"millrace/remote"
	"millrace/tfrecord"
)

// Suffix is the suffix of the names of index files.
const Suffix = ".millrace-index"

// IsIndex reports whether a path is that of an index file, or of one that is being
// written.
func IsIndex(path string) bool {
	if base, ok := atomicfile.Target(path); ok {
		path = base
	}
	return strings.HasSuffix(path, Suffix)
}

// CacheDir returns the folder for index files in the user's cache directory, "" if the
// user has no cache directory. It is meant for [Options].
func CacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "millrace", "index")
}

// adjacent returns the path of the index file in the folder of a data file.
func adjacent(data string) string { return data + Suffix }

// cached returns the path of the index file in a cache directory.
func cached(dir, data string) (string, error) {
	full, err := data, error(nil)
	if !remote.IsURL(data) {
		full, err = filepath.Abs(data)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(full)))+Suffix), nil
}

// read returns the contents of an index file. The error is fs.ErrNotExist if there is
// no such file, and a *formatError if it is not an index file.
func read(path string, limit int64) (*contents, error) {
	if remote.IsURL(path) {
		b, err := readRemote(path, limit)
		if err != nil {
			return nil, err
		}
		return decode(b)
	}
	b, err := regularfile.ReadFile(path, limit)
	var large *regularfile.LimitError
	if errors.As(err, &large) {
		return nil, malformed("%d bytes are more than the index of a file of this size has", large.Size)
	}
	if err != nil {
		return nil, err
	}
	return decode(b)
}

func readRemote(url string, limit int64) ([]byte, error) {
	f, err := remote.Open(context.Background(), url)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > limit {
		return nil, malformed("%d bytes are more than the index of a file of this size has", f.Size())
	}
	b := make([]byte, f.Size())
	_, err = io.ReadFull(f, b)
	return b, err
}

// write writes an index file atomically. Its read permissions are the data file's.
func write(path string, c *contents, mode fs.FileMode) error {
	b, err := c.encode()
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(path, mode.Perm()&^0o111)
	if err != nil {
		return ioError(path, err)
	}
	defer f.Close()
	if _, err = f.Write(b); err == nil {
		err = f.Chmod(mode.Perm() &^ 0o111)
	}
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return ioError(path, err)
	}
	return nil
}

// Write writes the index of a data file next to it or, if that is not allowed, to the
// cache directory; "": only next to it. The index must have a layout. Write returns the
// path of the index file. It may be called concurrently.
func Write(x *tfrecord.Index, cacheDir string) (string, error) {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(x.Path); err == nil {
		mode = info.Mode()
	}
	c, path := contentsOf(x), adjacent(x.Path)
	err := write(path, c, mode)
	if err == nil || cacheDir == "" || remote.IsURL(x.Path) {
		return path, err
	}
	if path, cerr := cached(cacheDir, x.Path); cerr == nil {
		if cerr = os.MkdirAll(cacheDir, 0o755); cerr == nil {
			if cerr = write(path, c, 0o600); cerr == nil {
				return path, nil
			}
		}
	}
	return path, err
}

func ioError(path string, err error) error {
	if remote.IsURL(path) {
		return err // package remote has described it
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", atomicfile.Cause(err))
	e.Op, e.File = "write index", path
	return e
}
