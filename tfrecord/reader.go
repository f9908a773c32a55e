package tfrecord

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"math"
	"slices"

	"millrace"
)

// ReaderOptions are the options of a Reader. Nil and the zero value read an
// uncompressed file with the default limit.
type ReaderOptions struct {
	Compression    Compression // default none
	Size           int64       // bytes of the input, before decompression; 0 or less: unknown. OpenFile and Scan find it themselves
	MaxRecordBytes int64       // limit for one record's data; 0 or less: DefaultMaxRecordBytes
}

// checked returns the options with defaults filled in.
func (o *ReaderOptions) checked() (ReaderOptions, error) {
	var c ReaderOptions
	if o != nil {
		c = *o
	}
	if c.MaxRecordBytes <= 0 {
		c.MaxRecordBytes = DefaultMaxRecordBytes
	}
	c.MaxRecordBytes = min(c.MaxRecordBytes, math.MaxInt-frameSize)
	if c.Size <= 0 || c.Compression != None {
		c.Size = -1 // the size of a compressed stream does not limit its records
	}
	return c, c.Compression.check()
}

// Record is one record of a file.
type Record struct {
	Ordinal int64  // index in the file, from 0
	Offset  int64  // offset of the header, in the decompressed bytes
	Data    []byte // valid until the next record is read
}

// Reader reads records one after the other, and verifies lengths and checksums.
type Reader struct {
	name   string
	opts   ReaderOptions
	src    *bufio.Reader
	z      *inflater   // source of src; nil for no compression
	file   File        // nil if the Reader did not open it
	opened fs.FileInfo // state of the file when it was opened
	held   int         // bytes of the last returned record that are still in src
	taken  int64       // bytes of the next record that were already consumed from src
	record int64       // ordinal of the next record
	offset int64       // offset of the next record's header
	last   Record
	buf    []byte // buffer for records that do not fit src's buffer
	err    error  // error that ended reading; sticky
}

// bufferSize is the number of bytes that a Reader reads at once.
const bufferSize = 256 << 10

// NewReader returns a Reader of r. Errors give name as the file.
func NewReader(r io.Reader, name string, o *ReaderOptions) *Reader {
	d := &Reader{name: name}
	d.opts, d.err = o.checked()
	if d.err != nil {
		d.opts.Compression = None
		d.err = withFile(d.err, name)
	}
	size := bufferSize
	if d.opts.Compression != None {
		d.z = newInflater(r, d.opts.Compression)
		r = d.z
		size = 64 << 10
	} else if d.opts.Size >= 0 {
		size = int(min(int64(size), max(d.opts.Size, sniffLen)))
	}
	d.src = bufio.NewReaderSize(r, size)
	return d
}

// OpenFile returns a Reader of a regular file. It refuses anything else without
// blocking. The caller closes the Reader. At the end of the file, and at any error, the
// Reader checks whether the file has changed, and reports that.
func OpenFile(path string, o *ReaderOptions) (*Reader, error) {
	f, info, err := openRegular(context.Background(), path)
	if err != nil {
		return nil, err
	}
	var c ReaderOptions
	if o != nil {
		c = *o
	}
	c.Size = info.Size()
	d := NewReader(f, path, &c)
	d.file, d.opened = f, info
	if d.err != nil {
		f.Close()
		return nil, d.err
	}
	return d, nil
}

// Close closes the file that OpenFile opened.
func (d *Reader) Close() error {
	if d.file == nil {
		return nil
	}
	f := d.file
	d.file = nil
	d.err = millrace.Errorf(millrace.ErrClosed, "reader of %s is closed", millrace.Quote(d.name))
	if err := f.Close(); err != nil {
		return ioError("close", d.name, err)
	}
	return nil
}

// Next returns the data of the next record, which is valid until the next call. At
// the end of the data, and only there, the error is io.EOF. Every other error is a
// *millrace.Error, and all later calls return it again.
func (d *Reader) Next() ([]byte, error) {
	if d.err != nil {
		return nil, d.err
	}
	data, err := d.next()
	if err != nil {
		d.err = d.settle(err)
		return nil, d.err
	}
	d.pass()
	return data, nil
}

// pass moves past the last record that was read.
func (d *Reader) pass() {
	d.record++
	d.offset += int64(len(d.last.Data)) + frameSize
}

// SeekRecord makes Next return the record with an ordinal, whose header is at an offset
// given by [Layout.Offset]. Only a Reader that OpenFile made for a plain file can seek.
func (d *Reader) SeekRecord(ordinal, offset int64) error {
	switch {
	case d.err != nil && d.err != io.EOF && !Damaged(d.err):
		return d.err
	case d.file == nil || d.z != nil:
		return millrace.Errorf(millrace.ErrConfig, "only a reader of a plain file can seek")
	case d.err == nil && d.offset == offset:
		return nil
	}
	if _, err := d.file.Seek(offset, io.SeekStart); err != nil {
		return ioError("seek", d.name, err)
	}
	d.src.Reset(d.file)
	d.held, d.record, d.offset, d.err = 0, ordinal, offset, nil
	return nil
}

// Record returns the last record that Next returned, with its location.
func (d *Reader) Record() Record { return d.last }

// Count returns the number of records that Next has returned.
func (d *Reader) Count() int64 { return d.record }

func (d *Reader) next() ([]byte, error) {
	if _, err := d.src.Discard(d.held); err != nil {
		return nil, d.readError(err)
	}
	d.held, d.taken = 0, 0
	n, err := d.header()
	if err != nil {
		return nil, err
	}
	d.taken = headerSize
	body, err := d.body(n + crcSize)
	if err != nil {
		return nil, err
	}
	data := body[:n]
	d.last = Record{Ordinal: d.record, Offset: d.offset, Data: data}
	if stored, sum := binary.LittleEndian.Uint32(body[n:]), maskedCRC(data); stored != sum {
		return nil, d.place(dataChecksum(stored, sum, n))
	}
	return data, nil
}

// header reads a record's header and returns the length of its data, which is
// within the cap and the file. At the end of the data it returns io.EOF.
func (d *Reader) header() (int, error) {
	h, err := d.src.Peek(headerSize)
	switch {
	case err == io.EOF && len(h) == 0:
		return 0, io.EOF
	case err == io.EOF:
		return 0, d.shortHeader(h)
	case err != nil && len(h) == 0:
		return 0, d.between(d.readError(err))
	case err != nil:
		return 0, d.readError(err)
	}
	length, ok := parseHeader(h)
	if !ok {
		return 0, d.badHeader(h)
	}
	rest := int64(-1)
	if d.opts.Size >= 0 {
		rest = max(0, d.opts.Size-d.offset-headerSize)
	}
	if err := checkLength(length, rest, d.opts.MaxRecordBytes); err != nil {
		return 0, d.place(err)
	}
	d.src.Discard(headerSize)
	return int(length), nil
}

// body returns the next n bytes, in the reader's buffer if they fit there.
func (d *Reader) body(n int) ([]byte, error) {
	if n <= d.src.Size() {
		b, err := d.src.Peek(n)
		if err != nil {
			return nil, d.bodyError(err, n, len(b))
		}
		d.held = n
		return b, nil
	}
	// The claimed length is not trusted: memory grows as bytes arrive.
	b := d.buf[:0]
	for len(b) < n {
		step := min(n-len(b), max(len(b), 1<<20))
		b = slices.Grow(b, step)
		m, err := io.ReadFull(d.src, b[len(b):len(b)+step])
		b = b[:len(b)+m]
		d.taken += int64(m)
		if err != nil {
			return nil, d.bodyError(err, n, len(b))
		}
	}
	d.buf = b
	return b, nil
}
