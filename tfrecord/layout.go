package tfrecord

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	"millrace"
)

// Layout has the location of every record of a file. It stores the lengths of the
// records, from which the offsets follow: a record begins where the previous one ends.
// So a Layout takes 4 bytes a record, and 8 bytes for every 64th. Its methods except
// Append may be called concurrently.
type Layout struct {
	lengths []uint32
	marks   []int64 // offset of every record whose ordinal is a multiple of markEvery
	end     int64   // offset of the next record
}

// markEvery is the maximum number of lengths to add up to find an offset.
const markEvery = 64

// MaxLayoutRecord is the largest length that a Layout can store.
const MaxLayoutRecord = math.MaxUint32

// Append adds a record of n data bytes, at most [MaxLayoutRecord].
func (l *Layout) Append(n int64) {
	if len(l.lengths)%markEvery == 0 {
		l.marks = append(l.marks, l.end)
	}
	l.lengths = append(l.lengths, uint32(n))
	l.end += n + frameSize
}

// Grow allocates space for n more records.
func (l *Layout) Grow(n int) {
	l.lengths = slices.Grow(l.lengths, n)
	l.marks = slices.Grow(l.marks, n/markEvery+1)
}

// Records returns the number of records.
func (l *Layout) Records() int64 { return int64(len(l.lengths)) }

// Length returns the number of data bytes of a record.
func (l *Layout) Length(record int64) int64 { return int64(l.lengths[record]) }

// Lengths returns the number of data bytes of each record. The caller must not change
// the slice.
func (l *Layout) Lengths() []uint32 { return l.lengths }

// Offset returns the offset of a record's header in the uncompressed file.
func (l *Layout) Offset(record int64) int64 {
	offset := l.marks[record/markEvery]
	for _, n := range l.lengths[record-record%markEvery : record] {
		offset += int64(n) + frameSize
	}
	return offset
}

// End returns the end of the last record: the size of the uncompressed file.
func (l *Layout) End() int64 { return l.end }

// HasHeader reports whether an uncompressed file has the header of a record at the
// Layout's offset. It only returns read errors; a file that ends before the header is
// not one.
func (l *Layout) HasHeader(r io.ReaderAt, record int64) (bool, error) {
	var want, h [headerSize]byte
	putHeader(&want, int(l.lengths[record]))
	if _, err := r.ReadAt(h[:], l.Offset(record)); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return h == want, nil
}

// DamagedHeader reports whether the header at the Layout's offset in an uncompressed
// file fails its checksum. It only returns read errors.
func (l *Layout) DamagedHeader(r io.ReaderAt, record int64) (bool, error) {
	var h [headerSize]byte
	if _, err := r.ReadAt(h[:], l.Offset(record)); err != nil {
		return false, err
	}
	_, ok := parseHeader(h[:])
	return !ok, nil
}

// AppendBinary appends the lengths to b, as 4 bytes each, little endian.
func (l *Layout) AppendBinary(b []byte) ([]byte, error) {
	b = slices.Grow(b, 4*len(l.lengths))
	for _, n := range l.lengths {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b, nil
}

// ParseLayout parses the output of AppendBinary.
func ParseLayout(b []byte) (*Layout, error) {
	if len(b)%4 != 0 {
		return nil, millrace.Errorf(millrace.ErrCorrupt, "%d bytes of lengths are no multiple of 4", len(b))
	}
	l := &Layout{}
	l.Grow(len(b) / 4)
	for ; len(b) > 0; b = b[4:] {
		l.Append(int64(binary.LittleEndian.Uint32(b)))
	}
	return l, nil
}
