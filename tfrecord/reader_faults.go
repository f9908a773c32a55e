package tfrecord

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"millrace"
)

// checkLength compares the length a header claims with the cap and with the bytes that
// follow the header; rest is -1 if their number is unknown.
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

// cutRecord is the fault of a record of n data bytes; only have bytes of the data and
// its checksum exist.
func cutRecord(what string, n, have int64) *millrace.Error {
	if have < n {
		return millrace.Errorf(millrace.ErrTruncated, "%s is truncated inside the record: %d of %d data bytes", what, have, n)
	}
	return millrace.Errorf(millrace.ErrTruncated, "%s is truncated inside the record: %d of %d data checksum bytes", what, have-n, crcSize)
}

// bodyError returns the reason why only have of n bytes could be read.
func (d *Reader) bodyError(err error, n, have int) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return d.readError(err)
	}
	return d.place(cutRecord(d.describe(), int64(n-crcSize), int64(have)))
}

// describe names the input in a message.
func (d *Reader) describe() string {
	if d.opts.Compression == None {
		return "file"
	}
	return d.opts.Compression.String() + " stream"
}

// shortHeader is the fault of an input that ends inside a header; h has the existing
// bytes.
func (d *Reader) shortHeader(h []byte) error {
	if d.record == 0 && d.opts.Compression == None {
		if guess := sniff(h); guess != "" {
			return d.notRecords(h, guess)
		}
	}
	return d.place(cutHeader(d.describe(), len(h)))
}

// cutHeader is the fault of an input that ends inside a header.
func cutHeader(what string, have int) *millrace.Error {
	return millrace.Errorf(millrace.ErrTruncated, "%s is truncated inside a record header: %d of %d header bytes", what, have, headerSize)
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

// The causes of an error of class millrace.ErrCorrupt whose checksum does not match:
// they name the damaged part.
var (
	ErrLengthChecksum = errors.New("the checksum of a record's length does not match")
	ErrDataChecksum   = errors.New("the checksum of a record's data does not match")
)

// lengthChecksum is the fault of a header whose checksum is wrong.
func lengthChecksum(h []byte) *millrace.Error {
	note := ""
	if !slices.ContainsFunc(h[:headerSize], func(c byte) bool { return c != 0 }) {
		note = "; the header is all zeros: an unfinished copy?"
	}
	e := millrace.Errorf(millrace.ErrCorrupt, "length checksum: stored %08x, that of the length %08x%s",
		binary.LittleEndian.Uint32(h[lengthSize:]), maskedCRC(h[:lengthSize]), note)
	e.Err = ErrLengthChecksum
	return e
}

// dataChecksum is the fault of a record of n data bytes whose checksum is wrong.
func dataChecksum(stored, sum uint32, n int) *millrace.Error {
	e := millrace.Errorf(millrace.ErrCorrupt, "data checksum: stored %08x, that of the %d data bytes %08x", stored, n, sum)
	e.Err = ErrDataChecksum
	return e
}

// notRecords is the fault of an input in another format.
func (d *Reader) notRecords(prefix []byte, guess string) error {
	e := d.fault(millrace.ErrCorrupt, "not a TFRecord file (length checksum): it %s (first bytes %s)", guess, firstBytes(prefix))
	if d.opts.Compression != None {
		e.Msg = fmt.Sprintf("the %s stream holds no TFRecords (length checksum): its content %s (first bytes %s)",
			d.opts.Compression, guess, firstBytes(prefix))
	} else if g, ok := otherwiseCompressed(guess, None); ok {
		e.Msg = g
	}
	e.Record, e.Offset = -1, -1
	return e
}

// readError is an error of the input, or of its decompression.
func (d *Reader) readError(err error) *millrace.Error {
	var cut *cutStream
	var bad *streamError
	switch {
	case errors.As(err, &cut):
		return d.place(d.cutStream(cut.where))
	case errors.As(err, &bad):
		return d.place(millrace.Errorf(bad.class, "%s", bad.msg))
	}
	return d.place(ioError("read", d.name, err))
}

// cutStream is the fault of a compressed stream that ends early.
func (d *Reader) cutStream(where string) *millrace.Error {
	if where != "" {
		where = " (" + where + ")"
	}
	after := "before the first record is whole"
	if d.record > 0 {
		after = fmt.Sprintf("after record %d", d.record-1)
	}
	return millrace.Errorf(millrace.ErrTruncated, "%s stream ends early %s%s", d.opts.Compression, after, where)
}

// between returns the fault e without a record: no byte of a next record was read, and
// there may be none.
func (d *Reader) between(e *millrace.Error) error {
	if e.Class == millrace.ErrIO {
		return e
	}
	e.Record, e.Offset = -1, -1
	if d.record > 0 && e.Class != millrace.ErrTruncated {
		e.Msg += fmt.Sprintf(", after record %d", d.record-1)
	}
	return e
}

// fault returns an error at the next record.
func (d *Reader) fault(class millrace.Class, format string, args ...any) *millrace.Error {
	return d.place(millrace.Errorf(class, format, args...))
}

// place sets the location of an error to the next record.
func (d *Reader) place(e *millrace.Error) *millrace.Error {
	e.Op, e.File, e.Record, e.Offset = "read", d.name, d.record, d.offset
	return e
}

// settle converts the error that ended reading to the result of Next: if the file has
// changed since it was opened, that is the reason.
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
