// Package regularfile opens regular files and refuses everything else without blocking.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"millrace"
)

// Flags are the flags for opening a path that may not be a regular file: without
// O_NONBLOCK opening a named pipe waits for its writer.
const Flags = os.O_RDONLY | syscall.O_NONBLOCK

// Error is the error about a path that is not a regular file.
type Error struct {
	What     string // "a directory", "a FIFO"
	OfKernel bool   // a file that the kernel generates
	Dir      bool
}

// Error returns what the path is instead.
func (e *Error) Error() string { return "not a regular file but " + e.What }

// Open opens a file. It checks the file's type before, because opening a device can
// have side effects, and again afterwards, because the path may refer to another file
// by then. open opens with [Flags]. It returns an error of stat or open, or an [Error].
func Open(stat func() (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, fs.FileInfo, error) {
	info, err := stat()
	if err == nil {
		err = CheckInfo(info)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := open()
	if err != nil {
		return nil, nil, err
	}
	if info, err = Check(f); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Check returns an [Error] if an open file is not a regular one.
func Check(f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err == nil {
		err = CheckInfo(info)
	}
	if err == nil && ofKernel(f) {
		err = &Error{What: "a file of the kernel's", OfKernel: true}
	}
	return info, err
}

// CheckInfo returns an [Error] if a file is not a regular one according to its mode.
func CheckInfo(info fs.FileInfo) error {
	m := info.Mode()
	what := "of an unknown type"
	switch {
	case m.IsRegular():
		return nil
	case m.IsDir():
		what = "a directory"
	case m&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeDevice != 0:
		what = "a device"
	}
	return &Error{What: what, Dir: m.IsDir()}
}

// OpenFile opens the regular file at a path for reading. The error is an
// [fs.PathError], also where its cause is an [Error].
func OpenFile(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := Open(func() (fs.FileInfo, error) { return os.Stat(path) },
		func() (*os.File, error) { return os.OpenFile(path, Flags, 0) })
	var odd *Error
	if errors.As(err, &odd) {
		err = &fs.PathError{Op: "open", Path: path, Err: odd}
	}
	return f, info, err
}

// TextBytes is the size limit of small text files that are read as a whole: configs,
// progress, checksums.
const TextBytes = 64 << 20

// ReadFile reads a regular file of at most limit bytes. It checks the size before it
// allocates memory: a file with holes may have any size. The error is an
// [fs.PathError].
func ReadFile(path string, limit int64) ([]byte, error) {
	f, info, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fail := func(err error) ([]byte, error) { return nil, &fs.PathError{Op: "read", Path: path, Err: err} }
	if info.Size() > limit {
		return fail(&LimitError{info.Size(), limit})
	}
	text := make([]byte, info.Size(), info.Size()+1) // one more, to see the end at once
	n, err := io.ReadFull(f, text)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = fmt.Errorf("it shrank from %d to %d bytes while it was read", info.Size(), n)
	case err == nil:
		// Some files of the kernel have size 0, and other files may grow.
		var more []byte
		if more, err = io.ReadAll(io.LimitReader(f, limit+1-info.Size())); err == nil {
			text = append(text, more...)
		}
	}
	if err != nil {
		return fail(err)
	}
	if int64(len(text)) > limit {
		return fail(&LimitError{int64(len(text)), limit})
	}
	return text, nil
}

// LimitError is the error about a file that is too large to be read as a whole. It is
// of class [millrace.ErrLimit].
type LimitError struct{ Size, Limit int64 }

// Error returns the size of the file and the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("it has %d bytes, at most %d are read", e.Size, e.Limit)
}

// Is reports whether class is millrace.ErrLimit.
func (e *LimitError) Is(class error) bool { return class == millrace.ErrLimit }
