// Package atomicfile writes a file whole: readers see the old content or the new one,
// and a failure leaves the old one.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
)

// Write writes data to a new file with the permissions perm, before umask, syncs it and
// renames it to path. It replaces only a regular file or a symbolic link to one: a
// FIFO or a device stays, and is an error. Errors have class millrace.ErrIO.
func Write(path string, data []byte, perm fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return ioError(path, errors.New("it is not a regular file"))
	}
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()+".tmp")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return ioError(path, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		os.Remove(name)
		return ioError(path, err)
	}
	return nil
}

// ioError returns an error that names the file, and not the temporary one.
func ioError(path string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", err)
	e.Op, e.File = "write", path
	return e
}
