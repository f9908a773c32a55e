// Package atomicfile writes a file whole: readers see the old content or the new one,
// and a failure leaves the old one.
//
//	f, err := atomicfile.Create(path, 0o666)
//	if err != nil {
//		return err
//	}
//	defer f.Close() // removes the file unless it was committed
//	if _, err := f.Write(data); err != nil {
//		return err
//	}
//	return f.Commit()
//
// A temporary name is random and the file must be new, so that a planted FIFO or
// symbolic link is never opened.
//
// The URL of a store that package remote writes may stand for the path. Then the object is
// sent in parts, and Commit makes it visible.
package atomicfile

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"millrace"
	"millrace/remote"
)

// temporaryEnd is the suffix of temporary names.
const temporaryEnd = ".tmp"

// File is a file that is written under a temporary name, or an object. It is not safe for
// concurrent use.
type File struct {
	file   *os.File // nil once it is committed or closed, and for a URL
	object *remote.Writer
	path   string
}

// Create opens a new file, which [File.Commit] renames to path, with the permissions
// perm before umask. It refuses a path that is a folder, a FIFO or a device. The caller
// closes it in any case. Its errors and those of the File's methods name path and have
// class millrace.ErrIO. A URL without a store that is written is an error of class
// millrace.ErrConfig.
func Create(path string, perm fs.FileMode) (*File, error) {
	if remote.IsURL(path) {
		w, err := remote.Create(context.Background(), path)
		if err != nil {
			return nil, err
		}
		return &File{object: w, path: path}, nil
	}
	if err := replaceable(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(Temporary(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, failure(path, err)
	}
	return &File{file: f, path: path}, nil
}

// Write appends data.
func (f *File) Write(data []byte) (int, error) {
	if f.object != nil {
		return f.object.Write(data)
	}
	n, err := f.file.Write(data)
	if err != nil {
		return n, failure(f.path, err)
	}
	return n, nil
}

// Fd returns the descriptor, for hints to the kernel. An object has an invalid one.
func (f *File) Fd() uintptr { return f.file.Fd() }

// Chmod sets the permissions, regardless of the umask. It does nothing for objects.
func (f *File) Chmod(perm fs.FileMode) error {
	if f.object != nil {
		return nil
	}
	return failure(f.path, f.file.Chmod(perm))
}

// Commit syncs the content to the disk and gives the file its name, replacing a file
// with that name. After an error the old file is unchanged.
func (f *File) Commit() error {
	if f.object != nil {
		return f.object.Commit()
	}
	err := errors.Join(f.file.Sync(), f.file.Close())
	if err == nil {
		err = Rename(f.file.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.file.Name())
		f.file = nil
		return failure(f.path, err)
	}
	f.file = nil
	return SyncFolder(filepath.Dir(f.path))
}

// Close removes the file unless it was committed.
func (f *File) Close() error {
	if f.object != nil {
		return f.object.Close()
	}
	if f.file == nil {
		return nil
	}
	err := errors.Join(f.file.Close(), os.Remove(f.file.Name()))
	f.file = nil
	return failure(f.path, err)
}

// Write makes data the content of a file, as [Create] and [File.Commit] do.
func Write(path string, data []byte, perm fs.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Temporary returns a new name in path's folder, for a file that other code writes and
// [Rename] renames to path.
func Temporary(path string) string {
	return filepath.Join(filepath.Dir(path), "."+short(path)+"."+rand.Text()+temporaryEnd)
}

// short returns the base of a path, cut so that a temporary name fits 255 bytes.
func short(path string) string {
	const most = 200
	base := filepath.Base(path)
	return base[:min(len(base), most)]
}

// Target returns the base name of the file that a temporary name is for, cut to 200
// bytes. It reports whether name is a temporary name at all.
func Target(name string) (base string, ok bool) {
	m := temporaryName.FindStringSubmatch(filepath.Base(name))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// temporaryName matches what Temporary returns.
var temporaryName = regexp.MustCompile(`^\.(.+)\.[A-Z2-7]{26}` + regexp.QuoteMeta(temporaryEnd) + `$`)

// Sweep removes temporary files for path that killed processes left. The caller ensures
// that no other process is writing path.
func Sweep(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return failure(path, err)
	}
	for _, e := range entries {
		if base, ok := Target(e.Name()); !ok || base != short(path) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
			return failure(path, err)
		}
	}
	return nil
}

// replaceable returns an error if path must not be replaced by a file.
func replaceable(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return failure(path, errors.New("it is not a regular file"))
	}
	return nil
}

// failure returns an error that names the final file instead of the temporary one. It
// returns nil for nil.
func failure(path string, err error) error {
	var known *millrace.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", Cause(err))
	e.Op, e.File = "write", path
	return e
}

// Cause returns an error of package os or of this package without the path in it.
func Cause(err error) error {
	var known *millrace.Error
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &known) && known.Err != nil:
		return known.Err
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// SyncFolder syncs the names in a folder to the disk. Some file systems cannot do that
// and return EINVAL, which is not an error.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return failure(dir, err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return failure(dir, err)
	}
	return nil
}
