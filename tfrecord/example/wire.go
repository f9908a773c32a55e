package example

import (
	"fmt"
	"math"

	"millrace"
)

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// Tags, each of one byte, the only form TensorFlow recognises.
const (
	tagBytes1   = 1<<3 | wireBytes // Features of an Example, an entry, a key, a packed list
	tagBytes2   = 2<<3 | wireBytes // FeatureLists of a SequenceExample, a value
	tagBytes3   = 3<<3 | wireBytes
	tagVarint1  = 1<<3 | wireVarint
	tagFixed321 = 1<<3 | wireFixed32
)

// message is the part of a record from pos to end: one message, which is read from its
// start.
type message struct {
	record []byte
	pos    int
	end    int

	sequence bool // the record is parsed as a SequenceExample
}

// fault is an error at a byte of the record.
func (m *message) fault(at int, format string, args ...any) error {
	form := LikeExample
	if m.sequence {
		form = LikeSequence
	}
	e := millrace.Errorf(millrace.ErrCorrupt, "not %v (byte %d): %s; the record starts with %s",
		form, at, fmt.Sprintf(format, args...), millrace.QuoteData(m.record))
	e.Op = "parse"
	return e
}

// rest returns the number of remaining bytes.
func (m *message) rest() int { return m.end - m.pos }

// varint reads a varint of at most 64 bits.
func (m *message) varint() (uint64, error) {
	start := m.pos
	var v uint64
	for shift := 0; ; shift += 7 {
		if m.pos >= m.end {
			return 0, m.fault(start, "a varint is cut off")
		}
		c := m.record[m.pos]
		m.pos++
		if shift == 63 && c > 1 {
			return 0, m.fault(start, "a varint exceeds 64 bits")
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
}

// length reads the length of a field that must end within the message.
func (m *message) length() (int, error) {
	start := m.pos
	v, err := m.varint()
	if err != nil {
		return 0, err
	}
	if v > uint64(m.rest()) {
		return 0, m.fault(start, "a field claims %d bytes, %d remain", v, m.rest())
	}
	return int(v), nil
}

// field reads the tag want and a length, and returns the message in the field.
func (m *message) field(want byte, what string) (message, error) {
	if m.record[m.pos] != want {
		return message{}, m.fault(m.pos, "tag %#02x where %s begins", m.record[m.pos], what)
	}
	m.pos++
	return m.sub()
}

// sub reads a length and returns the message of that length.
func (m *message) sub() (message, error) {
	n, err := m.length()
	if err != nil {
		return message{}, err
	}
	s := message{record: m.record, pos: m.pos, end: m.pos + n, sequence: m.sequence}
	m.pos += n
	return s, nil
}

// bytes returns the rest of the message.
func (m *message) bytes() []byte { return m.record[m.pos:m.end:m.end] }

// span returns the location of the rest of the message.
func (m *message) span() span { return span{m.pos, m.end} }

// skip skips an unknown field outside of the features. A field with a known number but
// another type counts as unknown, as in protobuf.
func (m *message) skip() error {
	start := m.pos
	tag, err := m.varint()
	if err != nil {
		return err
	}
	if tag > math.MaxUint32 || tag>>3 == 0 {
		return m.fault(start, "field number %d", tag>>3)
	}
	if tag < 0x80 && m.pos-start > 1 {
		return m.fault(start, "a tag of %d bytes, which TensorFlow does not recognise", m.pos-start)
	}
	size := 0
	switch tag & 7 {
	case wireVarint:
		_, err := m.varint()
		return err
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	case wireBytes:
		if size, err = m.length(); err != nil {
			return err
		}
	default:
		return m.fault(start, "a group or an unknown wire type (tag %#02x)", tag)
	}
	if size > m.rest() {
		return m.fault(start, "a field of %d bytes, %d remain", size, m.rest())
	}
	m.pos += size
	return nil
}
