package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/internal/base/anyfile"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// failure returns an error about a file of a folder of checkpoints. An error of the
// operating system is also of class ErrIO.
func failure(file, doing string, err error) *millrace.Error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	e := millrace.Errorf(millrace.ErrCheckpoint, "%s: %w", doing, err)
	var errno unix.Errno
	if errors.As(err, &errno) {
		e.Err = errors.Join(err, millrace.ErrIO)
	}
	e.Op, e.File = "checkpoint", file
	return e
}

// refusal returns an error about the contents of a folder of checkpoints.
func refusal(file, format string, args ...any) *millrace.Error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.Op, e.File = "checkpoint", file
	return e
}

// WriteFile writes a file so that it is the old one or the new one whenever the
// process or the machine stops.
//
// The URL of a store may stand for the path.
func WriteFile(path string, data []byte) error {
	err := atomicfile.Write(path, data, 0o666)
	if err == nil || remote.IsURL(path) {
		return err
	}
	return failure(path, "write", atomicfile.Cause(err))
}

// readText reads a small file, or an object.
func readText(path string) ([]byte, error) { return anyfile.ReadFile(path, regularfile.TextBytes) }

// removeFile removes a file or an object, if it is there.
func removeFile(path string) error { return placed(path, "remove", anyfile.Remove(path)) }

// namesIn returns the names of the files in a folder, or of the objects below a URL. A missing folder
// has none.
func namesIn(dir string) ([]string, error) {
	names, err := anyfile.Names(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return names, placed(dir, "list", err)
}

// placed is failure for what package anyfile did: errors of a store have their place.
func placed(path, doing string, err error) error {
	if err == nil || remote.IsURL(path) {
		return err
	}
	return failure(path, doing, err)
}

// syncFile forces a file that is written to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return failure(path, "sync", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return failure(path, "sync", err)
	}
	return nil
}

// SyncFolder forces the names in a folder to the disk.
func SyncFolder(dir string) error {
	if err := atomicfile.SyncFolder(dir); err != nil {
		return failure(dir, "sync", atomicfile.Cause(err))
	}
	return nil
}

// checkSpace returns an error if the file system of dir has less than need
// bytes free.
func checkSpace(dir string, need int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return failure(dir, "look at the file system", err)
	}
	if free := int64(s.Bavail) * s.Bsize; free < need {
		return failure(dir, fmt.Sprintf("a checkpoint needs %d bytes, and %d are free", need, free), unix.ENOSPC)
	}
	return nil
}
