package tfrecord

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"millrace"
	"millrace/internal/base/regularfile"
)

// openRegular opens a regular file for reading. It refuses everything else without
// blocking.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
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

// ioError wraps an error of the operating system. Its text has the path once,
// although fs.PathError has it too.
func ioError(op, path string, err error) *millrace.Error {
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
