package tfrecord

import (
	"errors"
	"io"

	"millrace"
)

// # Continuing after a bad record
//
// The question. A record whose data fail their checksum is bad, but the records after
// it may be good. Where does the next one begin?
//
//	| length | length CRC | data     | data CRC | length | ...
//	   (a)        (a)         (b)
//
// The answer depends on what is damaged. (b) If it is the data, the length in the
// header is trusted, because it passed a separate checksum: [Reader.SkipDamaged]. (a)
// If it is the length, the file does not show where the next record begins. An index
// may: [Reader.SeekRecord] with an offset of a [Layout]. A search for the next header
// that passes its checksum would be a guess: the data of a record may contain another
// file's records. Without an index the rest of the file is lost, and so it is where the
// file ends inside of a record: [Severed].

// Damaged reports whether an error is that of a single record whose checksum does not
// match. The error about a file that is not a TFRecord file does not count.
func Damaged(err error) bool {
	return errors.Is(err, ErrDataChecksum) || errors.Is(err, ErrLengthChecksum)
}

// Severed reports whether reading cannot continue after the record that an error names:
// its length is damaged, or the file or stream ends within it.
func Severed(err error) bool {
	return errors.Is(err, ErrLengthChecksum) || errors.Is(err, millrace.ErrTruncated)
}

// SkipDamaged makes Next continue after a record whose data do not match their
// checksum, if Next failed because of that. It returns the record, whose data are valid
// until Next is called.
func (d *Reader) SkipDamaged() (Record, bool) {
	if !errors.Is(d.err, ErrDataChecksum) {
		return Record{}, false
	}
	d.err = nil
	d.pass()
	return d.last, true
}

// Position returns the location of the record that Next will return, or failed at.
func (d *Reader) Position() (ordinal, offset int64) { return d.record, d.offset }

// Left reads to the end after Next failed at a record. It returns the number of
// decompressed bytes from that record's header on, up to the first read error.
func (d *Reader) Left() int64 {
	if d.opts.Size >= 0 {
		return d.opts.Size - d.offset
	}
	n, _ := io.Copy(io.Discard, d.src) // unreadable bytes are not counted
	return d.taken + n
}
