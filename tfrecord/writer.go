package tfrecord

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"millrace"
)

// writeBuffer is the size of one write. The page cache keeps a file in pieces of the
// size of its writes, and large pieces are read much faster.
const writeBuffer = 256 << 10

// Writer writes records. The file is complete only after Close.
type Writer struct {
	buf    *bufio.Writer
	deflat compressor // nil for no compression
	head   [headerSize]byte
	foot   [crcSize]byte
	count  int64
	err    error

	kept   *keptIndex // nil: nobody asks for the index
	format Compression
}

// compressor is what gzip's and zlib's writers have in common.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// NewWriter returns a Writer to w. If the compression is unknown, the first Write
// returns an error.
func NewWriter(w io.Writer, c Compression) *Writer {
	x := &Writer{err: c.check(), format: c}
	switch c {
	case GZIP:
		x.deflat = gzip.NewWriter(w)
	case ZLIB:
		x.deflat = zlib.NewWriter(w)
	}
	if x.deflat != nil {
		w = x.deflat
	}
	x.buf = bufio.NewWriterSize(w, writeBuffer)
	return x
}

// Write writes one record, which may be empty.
func (x *Writer) Write(record []byte) error {
	if x.err != nil {
		return x.err
	}
	putHeader(&x.head, len(record))
	binary.LittleEndian.PutUint32(x.foot[:], maskedCRC(record))
	for _, part := range [...][]byte{x.head[:], record, x.foot[:]} {
		if _, err := x.buf.Write(part); err != nil {
			return x.fail(err)
		}
	}
	x.count++
	if x.kept != nil {
		x.kept.add(&x.head, &x.foot, int64(len(record)))
	}
	return nil
}

// Count returns how many records were written.
func (x *Writer) Count() int64 { return x.count }

// Flush writes buffered data to the underlying writer, so that a reader finds all
// records that were written. A compressed stream grows by a few bytes each time.
func (x *Writer) Flush() error {
	if x.err != nil {
		return x.err
	}
	if err := x.buf.Flush(); err != nil {
		return x.fail(err)
	}
	if x.deflat != nil {
		if err := x.deflat.Flush(); err != nil {
			return x.fail(err)
		}
	}
	return nil
}

// Close writes buffered data and the trailer of a compressed stream. It does not
// close the underlying writer.
func (x *Writer) Close() error {
	if x.err != nil {
		if c, ok := x.err.(*millrace.Error); ok && c.Class == millrace.ErrClosed {
			return nil
		}
		return x.err
	}
	if err := x.buf.Flush(); err != nil {
		return x.fail(err)
	}
	if x.deflat != nil {
		if err := x.deflat.Close(); err != nil {
			return x.fail(err)
		}
	}
	x.err = millrace.Errorf(millrace.ErrClosed, "record writer is closed")
	return nil
}

// fail keeps the first error of the underlying writer.
func (x *Writer) fail(err error) error {
	x.err = &millrace.Error{Class: millrace.ErrIO, Op: "write", Record: x.count, Offset: -1, Msg: "write: " + err.Error(), Err: err}
	return x.err
}
