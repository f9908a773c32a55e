package tfrecord

import (
	"errors"
	"io"

	"millrace"
)

// # Reading on behind a bad record
//
// The question. A record whose data fail their checksum is bad, and the records
// behind it may be good. Where does the next one begin?
//
//	| length | length CRC | data     | data CRC | length | ...
//	   (a)        (a)         (b)
//
// The answer depends on what is damaged. (b) If it is the data, the length in the
// header is believed, because it passed a checksum of its own: [Reader.SkipDamaged].
// (a) If it is the length, nothing in the file says where the next record begins. An
// index may: [Reader.SeekRecord] with an offset of a [Layout]. To search for the next
// header that passes its checksum would be a guess: the data of a record may hold
// another file's records. Without an index the rest of the file is lost, and so it is
// where the file ends inside of a record: [Severed].

// Damaged reports whether an error is that of a single record whose checksum does not
// match. The error of something that is no TFRecord file at all is none of these.
func Damaged(err error) bool {
	return errors.Is(err, ErrDataChecksum) || errors.Is(err, ErrLengthChecksum)
}

// Severed reports whether an error says that nobody can read on behind the record that
// it names: its length is damaged, or the file or stream ends within it.
func Severed(err error) bool {
	return errors.Is(err, ErrLengthChecksum) || errors.Is(err, millrace.ErrTruncated)
}

// SkipDamaged has Next go on behind a record whose data do not match their checksum,
// if that is what Next failed at. It returns the record, whose data are valid until
// Next is called.
func (d *Reader) SkipDamaged() (Record, bool) {
	if !errors.Is(d.err, ErrDataChecksum) {
		return Record{}, false
	}
	d.err = nil
	d.pass()
	return d.last, true
}

// Position returns the place of the record that Next returns next, or failed at.
func (d *Reader) Position() (ordinal, offset int64) { return d.record, d.offset }

// Left reads on to the end, after Next failed at a record, and returns how many bytes
// there are from that record's header on, decompressed. Reading that fails ends them.
func (d *Reader) Left() int64 {
	if d.opts.Size >= 0 {
		return d.opts.Size - d.offset
	}
	n, _ := io.Copy(io.Discard, d.src) // what cannot be read cannot be counted
	return d.taken + n
}
