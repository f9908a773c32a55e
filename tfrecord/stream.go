package tfrecord

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"millrace"
)

// Stream returns the decompressed bytes of a file: headers, data and checksums, without
// verifying any of them. It is for records that a [Reader] refuses. Only one goroutine
// at a time may use it.
type Stream struct {
	path string
	file File
	info fs.FileInfo
	z    *inflater // nil for no compression
	at   int64     // number of bytes read from z
	buf  bytes.Buffer
}

// OpenStream opens a regular file. It refuses anything else without blocking. The
// caller closes the Stream.
func OpenStream(path string, c Compression) (*Stream, error) {
	if err := c.check(); err != nil {
		return nil, withFile(err, path)
	}
	file, info, err := openRegular(context.Background(), path)
	if err != nil {
		return nil, err
	}
	s := &Stream{path: path, file: file, info: info}
	if c != None {
		s.z = newInflater(file, c)
	}
	return s, nil
}

// Info describes the file as it was when it was opened.
func (s *Stream) Info() fs.FileInfo { return s.info }

// Close closes the file.
func (s *Stream) Close() error { return s.file.Close() }

// Bytes returns n bytes from an offset on, decompressed. They are valid until the next
// call. In a compressed file the offset must not be before the end of the last returned
// bytes. The error is of class [millrace.ErrTruncated] if the file ends before.
func (s *Stream) Bytes(offset, n int64) ([]byte, error) {
	var r io.Reader = io.NewSectionReader(s.file, offset, n)
	if s.z != nil {
		if offset < s.at {
			return nil, s.fault(millrace.ErrInternal, offset, errors.New("a compressed file is read forwards only"))
		}
		if err := s.pass(offset - s.at); err != nil {
			return nil, s.fault(millrace.ErrTruncated, offset, err)
		}
		r = s.z
	}
	s.buf.Reset() // it grows as bytes arrive, because n may exceed the data
	got, err := io.CopyN(&s.buf, r, n)
	s.at += got
	if err != nil {
		return nil, s.fault(millrace.ErrTruncated, offset, err)
	}
	return s.buf.Bytes(), nil
}

// pass reads n bytes of a compressed file and drops them.
func (s *Stream) pass(n int64) error {
	got, err := io.CopyN(io.Discard, s.z, n)
	s.at += got
	return err
}

// fault returns the error of reading at an offset. class is used for a file that ends.
func (s *Stream) fault(class millrace.Class, offset int64, cause error) error {
	var p *fs.PathError
	var bad *streamError
	e := millrace.Errorf(class, "the file ends before: %w", cause)
	switch {
	case errors.As(cause, &p):
		e = ioError("read", s.path, cause)
	case errors.As(cause, &bad):
		e = millrace.Errorf(bad.class, "%w", cause)
	case class == millrace.ErrInternal:
		e = millrace.Errorf(class, "%w", cause)
	}
	e.Op, e.File, e.Offset = "read", s.path, offset
	return e
}
