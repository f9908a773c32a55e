package tfrecord

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"millrace"
	"millrace/internal/kernelfs"
)

// openRegular opens a regular file for reading. It refuses everything else without
// blocking. It checks the file's type before opening, because opening a device can
// have effects, and again afterwards, because the path may lead to another file by
// then. With O_NONBLOCK, opening a FIFO that appears in between does not wait for
// its writer.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, ioError("open", path, err)
	}
	if err := checkRegular(path, info); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, ioError("open", path, err)
	}
	info, err = f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, ioError("open", path, err)
	}
	err = checkRegular(path, info)
	if err == nil && kernelfs.Holds(f) {
		err = irregular(path, "a file of the kernel's")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// checkRegular returns an error for all but regular files.
func checkRegular(path string, info fs.FileInfo) error {
	m := info.Mode()
	if m.IsRegular() {
		return nil
	}
	what := "of an unknown type"
	switch {
	case m.IsDir():
		what = "a directory"
	case m&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeDevice != 0:
		what = "a device"
	}
	return irregular(path, what)
}

// irregular says what is at a path in place of a regular file.
func irregular(path, what string) error {
	e := millrace.Errorf(millrace.ErrIO, "not a regular file but %s", what)
	e.Op, e.File = "open", path
	return e
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

// difference says how a file differs from what it was before, "" if it does not.
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
