package graph_test

import (
	"encoding/binary"
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// mutator changes the bytes of protobufs where it matters: the fields of messages at
// any depth, because random changes of bytes would mostly make the message unreadable.
type mutator struct {
	rng   *rand.Rand
	bank  [][]byte // fields of the models, with their tags, to be put elsewhere
	words [][]byte // contents of their strings
}

// span is one field of a message: b[start:end], tag included; content is where
// its value begins.
type span struct {
	num                 protowire.Number
	wire                protowire.Type
	start, content, end int
}

// spans returns the fields of a message, as far as they can be read.
func spans(b []byte) []span {
	var all []span
	for pos := 0; pos < len(b); {
		num, wire, n := protowire.ConsumeTag(b[pos:])
		if n < 0 {
			break
		}
		size := protowire.ConsumeFieldValue(num, wire, b[pos+n:])
		if size < 0 {
			break
		}
		s := span{num: num, wire: wire, start: pos, content: pos + n, end: pos + n + size}
		if wire == protowire.BytesType {
			_, k := protowire.ConsumeVarint(b[s.content:])
			s.content += k
		}
		all, pos = append(all, s), s.end
	}
	return all
}

// collect adds the fields of a message of a type to the bank.
func (m *mutator) collect(b []byte, d protoreflect.MessageDescriptor) {
	for _, s := range spans(b) {
		m.bank = append(m.bank, b[s.start:s.end])
		f := d.Fields().ByNumber(s.num)
		switch {
		case f != nil && f.Message() != nil && s.wire == protowire.BytesType:
			m.collect(b[s.content:s.end], f.Message())
		case s.wire == protowire.BytesType && s.end-s.content < 200:
			m.words = append(m.words, b[s.content:s.end])
		}
	}
}

// mutate returns a changed copy of a message of a type. It descends into nested
// messages to a random depth.
func (m *mutator) mutate(b []byte, d protoreflect.MessageDescriptor) []byte {
	fields := spans(b)
	if len(fields) == 0 {
		return append(append([]byte(nil), b...), m.bank[m.rng.IntN(len(m.bank))]...)
	}
	s := fields[m.rng.IntN(len(fields))]
	f := d.Fields().ByNumber(s.num)
	if f != nil && f.Message() != nil && s.wire == protowire.BytesType && m.rng.IntN(6) > 0 {
		inner := m.mutate(b[s.content:s.end], f.Message())
		return m.replace(b, s, protowire.AppendBytes(m.tag(s.num, s.wire), inner))
	}
	switch m.rng.IntN(8) {
	case 0: // drop a field
		return m.replace(b, s, nil)
	case 1: // write the field twice
		return m.replace(b, s, append(append([]byte(nil), b[s.start:s.end]...), b[s.start:s.end]...))
	case 2: // insert another field
		return m.replace(b, s, append(append([]byte(nil), m.bank[m.rng.IntN(len(m.bank))]...), b[s.start:s.end]...))
	case 3: // move the field to the front
		return append(append([]byte(nil), b[s.start:s.end]...), m.replace(b, s, nil)...)
	case 4: // give the field another number
		return m.replace(b, s, append(m.tag(s.num+protowire.Number(m.rng.IntN(5)-2), s.wire), b[s.start+protowire.SizeTag(s.num):s.end]...))
	}
	return m.replace(b, s, m.value(b, s))
}

// tag writes a tag, sometimes in more bytes than it needs.
func (m *mutator) tag(num protowire.Number, wire protowire.Type) []byte {
	return m.varint(nil, uint64(max(num, 0))<<3|uint64(wire))
}

// varint writes a number, sometimes in more bytes than it needs, and sometimes
// with bits that its type does not have.
func (m *mutator) varint(b []byte, v uint64) []byte {
	switch m.rng.IntN(24) {
	case 0:
		b = protowire.AppendVarint(b, v)
		b[len(b)-1] |= 0x80
		for range m.rng.IntN(3) {
			b = append(b, 0x80)
		}
		return append(b, 0)
	case 1:
		return protowire.AppendVarint(b, v|1<<(32+m.rng.IntN(32)))
	}
	return protowire.AppendVarint(b, v)
}

// value writes a field with another value.
func (m *mutator) value(b []byte, s span) []byte {
	out := m.tag(s.num, s.wire)
	switch s.wire {
	case protowire.VarintType:
		v, _ := protowire.ConsumeVarint(b[s.content:])
		return m.varint(out, []uint64{0, 1, 2, v + 1, v ^ 1<<m.rng.IntN(64), ^uint64(0), m.rng.Uint64()}[m.rng.IntN(7)])
	case protowire.Fixed32Type:
		return binary.LittleEndian.AppendUint32(out, m.rng.Uint32())
	case protowire.Fixed64Type:
		return binary.LittleEndian.AppendUint64(out, m.rng.Uint64())
	}
	content := append([]byte(nil), b[s.content:s.end]...)
	switch {
	case m.rng.IntN(2) == 0 && len(m.words) > 0:
		content = m.words[m.rng.IntN(len(m.words))]
	case len(content) > 0:
		content[m.rng.IntN(len(content))] ^= 1 << m.rng.IntN(8)
	}
	return protowire.AppendBytes(out, content)
}

// replace returns b with other bytes in the place of a field.
func (m *mutator) replace(b []byte, s span, with []byte) []byte {
	out := make([]byte, 0, len(b)+len(with))
	return append(append(append(out, b[:s.start]...), with...), b[s.end:]...)
}
