package tfrecord

import (
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"millrace"
)

// writeBuffer is the size of one write. The page cache keeps a file in pieces of the
// size of its writes, and large pieces are read much faster.
const writeBuffer = 256 << 10

// pageBytes is the size of a page of a file. Writes end at a page boundary although
// records end anywhere: the bytes after it move to the next buffer.
const pageBytes = 4 << 10

// # The buffer of a record
//
// Records of some hundred bytes are encoded in less time than it takes to copy them
// through several buffers. So a record is stored only once, in the buffer that the
// system copies to the file: [Writer.AvailableBuffer] lends the space after the future
// header, and Write adds the header and the checksum around it.
//
//	buf  | whole records | 12 bytes free | AvailableBuffer ... | 4 bytes free
//
// A full buffer goes to the underlying writer. One that has a Swap method keeps it, for
// instance to write it in another goroutine, and returns another one.

// swapper is an underlying writer that takes ownership of full buffers.
type swapper interface {
	// Swap takes a buffer, unless it is nil, and returns an empty one.
	Swap(full []byte) ([]byte, error)
}

// Writer writes records. The file is complete only after Close.
type Writer struct {
	out    io.Writer
	swap   swapper    // out, if it is a swapper; otherwise nil
	deflat compressor // nil for no compression
	buf    []byte     // contains whole records
	head   [headerSize]byte
	sized  int // length for which head was made; -1: none
	most   int // the longest record so far
	foot   [crcSize]byte
	count  int64
	err    error

	kept   *keptIndex // nil: no index is kept
	format Compression
}

// compressor is what gzip's and zlib's writers have in common.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// NewWriter returns a Writer to w. If the compression is unknown, the first Write
// returns an error.
//
// If w also has a method Swap(full []byte) ([]byte, error), an uncompressed Writer
// calls it instead of Write for most data: Swap takes ownership of a full buffer and
// returns an empty one. The first call gets nil.
func NewWriter(w io.Writer, c Compression) *Writer {
	x := &Writer{out: w, err: c.check(), format: c, sized: -1}
	switch c {
	case GZIP:
		x.deflat = gzip.NewWriter(w)
	case ZLIB:
		x.deflat = zlib.NewWriter(w)
	}
	if x.deflat != nil {
		x.out = x.deflat
	}
	if x.swap, _ = x.out.(swapper); x.swap == nil {
		x.buf = make([]byte, 0, writeBuffer+pageBytes)
	}
	return x
}

// AvailableBuffer returns an empty slice to append a record to, for the next call of
// Write, which then copies nothing. It is nil if records are too large to be kept
// together.
func (x *Writer) AvailableBuffer() []byte {
	if x.err != nil || x.most+frameSize > writeBuffer || !x.makeRoom(x.most) {
		return nil
	}
	at := len(x.buf) + headerSize
	return x.buf[at : at : cap(x.buf)-crcSize]
}

// makeRoom reports whether a record of n bytes fits the buffer. If necessary it writes
// the buffer first. An error is kept.
func (x *Writer) makeRoom(n int) bool {
	if cap(x.buf)-len(x.buf) < n+frameSize {
		x.empty(false)
	}
	return x.err == nil && cap(x.buf)-len(x.buf) >= n+frameSize
}

// empty passes the buffer's bytes to the underlying writer, all of them or whole pages.
func (x *Writer) empty(all bool) {
	n := len(x.buf)
	if !all {
		n -= n % pageBytes
	}
	full, rest, next := x.buf[:n], x.buf[n:], x.buf[:0]
	var err error
	switch {
	case x.swap != nil:
		next, err = x.swap.Swap(full)
	case n > 0:
		_, err = x.out.Write(full)
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.buf = append(next, rest...)
}

// Write writes one record, which may be empty.
func (x *Writer) Write(record []byte) error {
	if x.err != nil {
		return x.err
	}
	n := len(record)
	if n != x.sized {
		putHeader(&x.head, n)
		x.sized, x.most = n, max(x.most, n)
	}
	binary.LittleEndian.PutUint32(x.foot[:], maskedCRC(record))
	switch {
	case x.makeRoom(n):
		x.add(record)
	case x.err == nil:
		if x.empty(true); x.err == nil {
			x.addLarge(record)
		}
	}
	if x.err != nil {
		return x.err
	}
	x.count++
	if x.kept != nil {
		x.kept.add(&x.head, &x.foot, int64(n))
	}
	return nil
}

// add adds a record that fits the buffer, and may already be in it.
func (x *Writer) add(record []byte) {
	at := len(x.buf) + headerSize
	b := x.buf[:at+len(record)+crcSize]
	if len(record) > 0 && &record[0] != &b[at] {
		copy(b[at:], record) // before the header is written, because the record may occupy its space
	}
	copy(b[at-headerSize:], x.head[:])
	copy(b[at+len(record):], x.foot[:])
	x.buf = b
}

// addLarge writes a record that does not fit the buffer, which is empty.
func (x *Writer) addLarge(record []byte) {
	for _, part := range [...][]byte{x.head[:], record, x.foot[:]} {
		if _, err := x.out.Write(part); err != nil {
			x.fail(err)
			return
		}
	}
}

// Count returns the number of records written.
func (x *Writer) Count() int64 { return x.count }

// Flush writes buffered data to the underlying writer, so that a reader finds all
// records that were written. A compressed stream grows by a few bytes each time.
func (x *Writer) Flush() error {
	if x.err != nil {
		return x.err
	}
	if x.empty(true); x.err != nil {
		return x.err
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
	if x.empty(true); x.err != nil {
		return x.err
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
