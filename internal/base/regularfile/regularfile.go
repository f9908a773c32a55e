// Package regularfile opens regular files and refuses everything else, without
// waiting for it.
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

// Flags are for opening a file that may turn out to be something else: without
// O_NONBLOCK the opening of a named pipe waits for its writer.
const Flags = os.O_RDONLY | syscall.O_NONBLOCK

// Error says what there is in place of a regular file.
type Error struct {
	What     string // "a directory", "a FIFO"
	OfKernel bool   // a file that the kernel makes up
	Dir      bool
}

// Error says what there is.
func (e *Error) Error() string { return "not a regular file but " + e.What }

// Open opens a file. It looks at the file's type before, because opening a device
// can have effects, and again afterwards, because the path may lead to another
// file by then. open opens with [Flags]. An error is that of stat or open, or an
// [Error].
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

// CheckInfo returns an [Error] if a file is not a regular one, as far as its mode
// says.
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

// TextBytes is a limit for files that are read whole and that somebody wrote by hand, or
// Millrace as a description: configs, progress, checksums.
const TextBytes = 64 << 20

// ReadFile reads a regular file of at most limit bytes. It looks at the size before it
// takes memory: a file with holes may claim any. The error is an [fs.PathError].
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
		// The kernel gives some files no size, and others may grow.
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

// LimitError says that a file is too large to be read whole. It is of class
// [millrace.ErrLimit].
type LimitError struct{ Size, Limit int64 }

// Error says how large the file is.
func (e *LimitError) Error() string {
	return fmt.Sprintf("it has %d bytes, at most %d are read", e.Size, e.Limit)
}

// Is reports whether class is that of limits.
func (e *LimitError) Is(class error) bool { return class == millrace.ErrLimit }
