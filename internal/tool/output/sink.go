package output

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"syscall"

	"millrace"
	"millrace/dtype"
)

// sink is the writer of an encoder. It counts bytes. It keeps the first
// failure, with file, offset and cause, and returns it from then on.
type sink struct {
	w    io.Writer
	dir  string // folder for temporary files of an encoder; "": the system's
	name string // name of the file, for messages
	off  int64
	rows int64 // number of rows given to the encoder so far
	err  error
	note func(string)

	digest hash.Hash // digest of the written bytes; nil: not needed
}

// Write passes p on.
func (s *sink) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.off += int64(n)
	if s.digest != nil {
		s.digest.Write(p[:n])
	}
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	var placed *millrace.Error
	switch {
	case errors.As(err, &placed): // a store's
		s.err = err
	case err != nil:
		s.err = s.fail("write", s.off, err)
	}
	return n, s.err
}

// say passes a remark to the user. A remark is not a failure.
func (s *sink) say(format string, args ...any) {
	if s.note != nil {
		s.note(fmt.Sprintf(format, args...))
	}
}

// fail describes a failure of the operating system.
func (s *sink) fail(op string, offset int64, cause error) error {
	return ioError(s.name, op, offset, s.rows, cause)
}

// ioError describes a failure of the operating system after rows records of a
// file.
func ioError(file, op string, offset, rows int64, cause error) error {
	var no syscall.Errno
	if errors.As(cause, &no) {
		cause = no // hides the temporary file's name
	}
	err := millrace.Errorf(millrace.ErrIO, "%s: %w, after %d records", op, cause, rows)
	err.Op, err.File, err.Offset = op, file, offset
	return err
}

// failed adds a location to a failure of an encoder. A failure of the output itself
// already has one; a failure of a temporary file gets the name of the output.
func (s *sink) failed(err error) error {
	var placed *millrace.Error
	if errors.As(err, &placed) {
		return err
	}
	return s.fail("write a temporary file", -1, err)
}

// encoder turns batches into the bytes of one format.
type encoder interface {
	start(cols []dtype.TensorSpec) error  // once, before the first write
	write(batch []Column, rows int) error // batches of the columns given to start
	finish() error                        // writes what follows the last batch
	discard()                             // frees resources; called instead of finish
}
