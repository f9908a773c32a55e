package tfrecord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// File is an open data file: an *os.File, or a *remote.File of a URL.
type File interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
	Stat() (fs.FileInfo, error)
}

// openRegular opens a regular file for reading, or the URL of an object. It refuses
// everything else without blocking.
func openRegular(ctx context.Context, path string) (File, fs.FileInfo, error) {
	if remote.IsURL(path) {
		return openRemote(ctx, path)
	}
	f, info, err := regularfile.OpenFile(path)
	var odd *regularfile.Error
	switch {
	case errors.As(err, &odd):
		e := millrace.Errorf(millrace.ErrIO, "%w", odd)
		e.Op, e.File = "open", path
		return nil, nil, e
	case err != nil:
		return nil, nil, ioError("open", path, err)
	}
	return f, info, nil
}

func openRemote(ctx context.Context, url string) (File, fs.FileInfo, error) {
	f, err := remote.Open(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	return f, info, err
}

// stat describes a file, or the object of a URL.
func stat(path string) (fs.FileInfo, error) {
	if !remote.IsURL(path) {
		return os.Stat(path)
	}
	info, err := remote.Default.Stat(context.Background(), path)
	return remote.FileInfo{URL: path, Info: info}, err
}

// ioError wraps an error of the operating system. Its text has the path once,
// although fs.PathError has it too.
func ioError(op, path string, err error) *millrace.Error {
	var own *millrace.Error
	if errors.As(err, &own) {
		return own // package remote has described it
	}
	e := &millrace.Error{Class: millrace.ErrIO, Op: op, File: path, Record: -1, Offset: -1, Err: err}
	var p *fs.PathError
	if errors.As(err, &p) {
		e.Msg = fmt.Sprintf("%s: %s", p.Op, p.Err)
	} else {
		e.Msg = fmt.Sprintf("%s: %s", op, err)
	}
	return e
}

// difference describes how a file has changed, "" if it has not.
func difference(before, now fs.FileInfo) string {
	if a, ok := before.(remote.FileInfo); ok {
		if b, ok := now.(remote.FileInfo); ok && a.Info.Version == b.Info.Version && a.Info.Size == b.Info.Size {
			return ""
		}
		return "replaced by another object"
	}
	switch {
	case !os.SameFile(before, now):
		return "replaced by another file"
	case before.Size() != now.Size():
		return fmt.Sprintf("size %d -> %d", before.Size(), now.Size())
	case !before.ModTime().Equal(now.ModTime()):
		return "modified " + now.ModTime().Format("2006-01-02 15:04:05.000")
	}
	return ""
}
