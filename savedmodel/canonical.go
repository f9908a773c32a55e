package savedmodel

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// canonical returns a checked protobuf as TensorFlow's C++ writes it when asked
// to be deterministic: fields by number, maps by key. It is what the checksum
// in fingerprint.pb is of. Python sorts the keys of maps in another order, so
// the file itself is not.
//
// Only the order differs, never the length, so everything moves in place.
func canonical(b []byte, m *messageType) []byte {
	b = slices.Clone(b)
	(&sorter{}).sort(b, m)
	return b
}

// sorter holds the buffers that sorting needs at every depth.
type sorter struct {
	parts []part
	moved []byte
}

// part is one field of a message, tag included.
type part struct {
	num        protowire.Number
	key        mapKey
	start, end int
}

// sort brings the fields of the message in b, and all messages in it, in order.
func (s *sorter) sort(b []byte, m *messageType) {
	first := len(s.parts)
	for pos := 0; pos < len(b); {
		num, wire, n := protowire.ConsumeTag(b[pos:])
		size := protowire.ConsumeFieldValue(num, wire, b[pos+n:])
		p := part{num: num, start: pos, end: pos + n + size}
		f := m.field(num)
		if !f.known {
			p.num = protowire.MaxValidNumber + 1 // what is not known comes last
		}
		if f.message != nil {
			content, _ := protowire.ConsumeBytes(b[pos+n : p.end])
			s.sort(content, f.message)
			if f.mapped {
				p.key = keyOf(num, content)
			}
		}
		s.parts = append(s.parts, p)
		pos = p.end
	}
	s.reorder(b, s.parts[first:])
	s.parts = s.parts[:first]
}

// reorder puts the parts of b in order.
func (s *sorter) reorder(b []byte, parts []part) {
	order := func(a, b part) int {
		return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.key.text, b.key.text), cmp.Compare(a.key.number, b.key.number))
	}
	if slices.IsSortedFunc(parts, order) {
		return
	}
	slices.SortStableFunc(parts, order)
	s.moved = s.moved[:0]
	for _, p := range parts {
		s.moved = append(s.moved, b[p.start:p.end]...)
	}
	copy(b, s.moved)
}
