package tfrecord

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"millrace"
)

// ReaderOptions says how a file is read. Nil and the zero value read a plain
// file with the default cap.
type ReaderOptions struct {
	Compression    Compression // default none
	Size           int64       // bytes the input has, before decompression; 0 or less: unknown. OpenFile and Scan look themselves
	MaxRecordBytes int64       // cap on one record's data; 0 or less: DefaultMaxRecordBytes
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
		c.Size = -1 // of a compressed stream, the size says nothing about its records
	}
	return c, c.Compression.check()
}

// Reader reads records one after the other and checks all there is to check.
type Reader struct {
	name   string
	opts   ReaderOptions
	src    *bufio.Reader
	file   *os.File    // nil if the Reader did not open it
	opened fs.FileInfo // what the file was then
	held   int         // bytes of the record given last, still in src
	record int64       // ordinal of the next record
	offset int64       // of the next record's header
	last   Record
	buf    []byte // records that do not fit src's buffer
	err    error  // what ended reading; sticks
}

// bufferSize is what a Reader reads at once.
const bufferSize = 256 << 10

// NewReader returns a Reader of r. The name stands in errors as the file.
func NewReader(r io.Reader, name string, o *ReaderOptions) *Reader {
	d := &Reader{name: name}
	d.opts, d.err = o.checked()
	if d.err != nil {
		d.opts.Compression = None
		d.err = withFile(d.err, name)
	}
	size := bufferSize
	if d.opts.Compression != None {
		r = newInflater(r, d.opts.Compression)
		size = 64 << 10
	} else if d.opts.Size >= 0 {
		size = int(min(int64(size), max(d.opts.Size, sniffLen)))
	}
	d.src = bufio.NewReaderSize(r, size)
	return d
}

// OpenFile returns a Reader of a regular file; anything else is refused, and
// without blocking. Close it. At the end, and at any fault, the Reader looks
// whether the file is still what it was, and says so if not.
func OpenFile(path string, o *ReaderOptions) (*Reader, error) {
	f, info, err := openRegular(path)
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

// Next returns the data of the next record. It is valid until the next call.
// The error is io.EOF at the end of the data and nowhere else; every other one
// is a *millrace.Error, and all later calls return it again.
func (d *Reader) Next() ([]byte, error) {
	if d.err != nil {
		return nil, d.err
	}
	data, err := d.next()
	if err != nil {
		d.err = d.settle(err)
		return nil, d.err
	}
	d.last = Record{Ordinal: d.record, Offset: d.offset, Data: data}
	d.record++
	d.offset += int64(len(data)) + frameSize
	return data, nil
}

// Record returns what Next returned last, with its place.
func (d *Reader) Record() Record { return d.last }

// Count returns how many records Next has returned.
func (d *Reader) Count() int64 { return d.record }

func (d *Reader) next() ([]byte, error) {
	if _, err := d.src.Discard(d.held); err != nil {
		return nil, d.readError(err)
	}
	d.held = 0
	n, err := d.header()
	if err != nil {
		return nil, err
	}
	body, err := d.body(n + crcSize)
	if err != nil {
		return nil, err
	}
	data := body[:n]
	if stored, sum := binary.LittleEndian.Uint32(body[n:]), maskedCRC(data); stored != sum {
		return nil, d.fault(millrace.ErrCorrupt, "data checksum: stored %08x, that of the %d data bytes %08x", stored, n, sum)
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

// checkLength compares the length a header claims with the cap and with the
// bytes that follow the header; rest is -1 where that is unknown.
func checkLength(length uint64, rest, limit int64) *millrace.Error {
	if length > uint64(limit) {
		left := ""
		if rest >= 0 {
			left = fmt.Sprintf("%d remain, ", rest)
		}
		return millrace.Errorf(millrace.ErrLimit, "claims %d bytes, %scap %s", length, left, sizeText(limit))
	}
	if n := int64(length); rest >= 0 && n > rest-crcSize {
		return cutRecord("file", n, rest)
	}
	return nil
}

// cutRecord is the fault of a record of n data bytes of which, with their
// checksum, only have bytes are there.
func cutRecord(what string, n, have int64) *millrace.Error {
	if have < n {
		return millrace.Errorf(millrace.ErrTruncated, "%s ends inside the record: %d of %d data bytes", what, have, n)
	}
	return millrace.Errorf(millrace.ErrTruncated, "%s ends inside the record: %d of %d data checksum bytes", what, have-n, crcSize)
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
	// The claimed length is not believed: memory grows as bytes arrive.
	b := d.buf[:0]
	for len(b) < n {
		step := min(n-len(b), max(len(b), 1<<20))
		b = slices.Grow(b, step)
		m, err := io.ReadFull(d.src, b[len(b):len(b)+step])
		b = b[:len(b)+m]
		if err != nil {
			return nil, d.bodyError(err, n, len(b))
		}
	}
	d.buf = b
	return b, nil
}

// bodyError is what stands in the way of n bytes of which have could be read.
func (d *Reader) bodyError(err error, n, have int) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return d.readError(err)
	}
	return d.place(cutRecord(d.what(), int64(n-crcSize), int64(have)))
}

// what names the input in a message.
func (d *Reader) what() string {
	if d.opts.Compression == None {
		return "file"
	}
	return d.opts.Compression.String() + " stream"
}

// shortHeader is the fault of an input that ends inside a header, h being what
// there is of it.
func (d *Reader) shortHeader(h []byte) error {
	if d.record == 0 && d.opts.Compression == None {
		if guess := sniff(h); guess != "" {
			return d.notRecords(h, guess)
		}
	}
	return d.place(cutHeader(d.what(), len(h)))
}

// cutHeader is the fault of an input that ends inside a header.
func cutHeader(what string, have int) *millrace.Error {
	return millrace.Errorf(millrace.ErrTruncated, "%s ends inside a record header: %d of %d header bytes", what, have, headerSize)
}

// badHeader is the fault of a header whose checksum is wrong.
func (d *Reader) badHeader(h []byte) error {
	if d.record == 0 {
		prefix, _ := d.src.Peek(min(sniffLen, d.src.Size()))
		if guess := sniff(prefix); guess != "" {
			return d.notRecords(prefix, guess)
		}
	}
	return d.place(lengthChecksum(h))
}

// lengthChecksum is the fault of a header whose checksum is wrong.
func lengthChecksum(h []byte) *millrace.Error {
	note := ""
	if !slices.ContainsFunc(h[:headerSize], func(c byte) bool { return c != 0 }) {
		note = "; the header is all zeros: an unfinished copy?"
	}
	return millrace.Errorf(millrace.ErrCorrupt, "length checksum: stored %08x, that of the length %08x%s",
		binary.LittleEndian.Uint32(h[lengthSize:]), maskedCRC(h[:lengthSize]), note)
}

// notRecords is the fault of an input that is something else altogether.
func (d *Reader) notRecords(prefix []byte, guess string) error {
	if d.opts.Compression != None {
		return d.fault(millrace.ErrCorrupt, "the %s stream holds no TFRecords (length checksum): its content %s (first bytes %s)",
			d.opts.Compression, guess, millrace.QuoteData(prefix))
	}
	if g, ok := otherwiseCompressed(guess, None); ok {
		return d.fault(millrace.ErrCorrupt, "%s", g)
	}
	return d.fault(millrace.ErrCorrupt, "not a TFRecord file (length checksum): it %s (first bytes %s)", guess, millrace.QuoteData(prefix))
}

// readError is a failure to get bytes: of the input, or of its decompression.
func (d *Reader) readError(err error) error {
	var cut *cutStream
	var bad *streamError
	switch {
	case errors.As(err, &cut):
		return d.cutStream(cut.where)
	case errors.As(err, &bad):
		return d.place(millrace.Errorf(bad.class, "%s", bad.msg))
	}
	return d.place(ioError("read", d.name, err))
}

// cutStream is the fault of a compressed stream that ends early.
func (d *Reader) cutStream(where string) error {
	if where != "" {
		where = " (" + where + ")"
	}
	after := "before the first record is whole"
	if d.record > 0 {
		after = fmt.Sprintf("after record %d", d.record-1)
	}
	return d.fault(millrace.ErrTruncated, "%s stream ends early %s%s", d.opts.Compression, after, where)
}

// fault returns an error at the next record.
func (d *Reader) fault(class millrace.Class, format string, args ...any) error {
	return d.place(millrace.Errorf(class, format, args...))
}

// place sets the place of an error to the next record.
func (d *Reader) place(e *millrace.Error) error {
	e.Op, e.File, e.Record, e.Offset = "read", d.name, d.record, d.offset
	return e
}

// settle turns what ended reading into what Next returns: if the file is not
// what it was when it was opened, that is the reason.
func (d *Reader) settle(err error) error {
	if d.file == nil {
		return err
	}
	now, serr := d.file.Stat()
	if serr != nil {
		return d.place(ioError("stat", d.name, serr))
	}
	if diff := difference(d.opened, now); diff != "" {
		return changedDuring(d.name, diff, err)
	}
	return err
}

// changedDuring is the fault of a file that changed under the reader.
func changedDuring(path, diff string, err error) error {
	note := ""
	var e *millrace.Error
	if errors.As(err, &e) {
		note = "; what was read: " + e.Msg
	}
	c := millrace.Errorf(millrace.ErrIO, "changed during read (%s)%s", diff, note)
	c.Op, c.File = "read", path
	return c
}

// withFile names the file in an error that has none yet.
func withFile(err error, path string) error {
	var e *millrace.Error
	if errors.As(err, &e) && e.File == "" {
		e.File = path
	}
	return err
}
