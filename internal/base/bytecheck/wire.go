package bytecheck

import "math"

// The wire types of protobuf.
const (
	wireVarint     = 0
	wireFixed64    = 1
	wireBytes      = 2
	wireGroupStart = 3
	wireGroupEnd   = 4
	wireFixed32    = 5
)

// maxGroups is the nesting limit of groups in protobuf's C++ parser.
const maxGroups = 100

// field is one field of a message.
type field struct {
	num    uint32
	wire   uint32
	number uint64 // value of a wireVarint
	bytes  []byte // value of a wireBytes
}

// message reads the fields of a message as protobuf's C++ parser does.
type message struct {
	rest []byte
	bad  bool // the rest cannot be read
}

// next returns the next field. It reports false at the end of the message, and at
// damage.
func (m *message) next() (f field, ok bool) {
	if len(m.rest) == 0 || m.bad {
		return field{}, false
	}
	f, ok = m.field(0)
	m.bad = !ok || f.wire == wireGroupEnd
	return f, !m.bad
}

// field reads the next field. depth is the number of groups that contain it.
func (m *message) field(depth int) (f field, ok bool) {
	tag, ok := m.varint(5)
	f.num, f.wire = uint32(tag)>>3, uint32(tag)&7
	if !ok || f.num == 0 {
		return f, false
	}
	switch f.wire {
	case wireVarint:
		f.number, ok = m.varint(10)
	case wireFixed64:
		ok = m.skip(8)
	case wireFixed32:
		ok = m.skip(4)
	case wireBytes:
		f.bytes, ok = m.lengthAndBytes()
	case wireGroupStart:
		ok = m.group(f.num, depth+1)
	case wireGroupEnd:
	default:
		ok = false
	}
	return f, ok
}

// group skips a group, including its end.
func (m *message) group(num uint32, depth int) bool {
	for depth <= maxGroups {
		f, ok := m.field(depth)
		if !ok {
			return false
		}
		if f.wire == wireGroupEnd {
			return f.num == num
		}
	}
	return false
}

// varint reads a varint of at most max bytes. Bits above 64 are dropped.
func (m *message) varint(max int) (v uint64, ok bool) {
	for i, b := range m.rest {
		if i == max {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			m.rest = m.rest[i+1:]
			return v, true
		}
	}
	return 0, false
}

// lengthAndBytes reads a length and that number of bytes.
func (m *message) lengthAndBytes() ([]byte, bool) {
	n, ok := m.varint(5)
	if !ok || n > math.MaxInt32 || n > uint64(len(m.rest)) {
		return nil, false
	}
	b := m.rest[:n]
	m.rest = m.rest[n:]
	return b, true
}

// skip skips n bytes.
func (m *message) skip(n int) bool {
	if len(m.rest) < n {
		return false
	}
	m.rest = m.rest[n:]
	return true
}
