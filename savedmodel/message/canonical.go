package message

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/base/wire"
)

// Two protobuf parsers may read the same bytes differently: a tag of more than 32 bits,
// a number longer than its type, a message in two pieces. A check that reads with one
// parser proves nothing about a program that reads with another. So TensorFlow never
// gets the original bytes. This package serializes the message again, in a canonical
// form that all parsers read alike. It checks that form, and TensorFlow loads that
// form:
//
//	as it may come               as it is written again
//	fields in any order          by number; entries of a map by key
//	numbers one by one           packed
//	f8 ff ff ff ff ff ff ff 01   the shortest varint of the field's type
//	zero written out             omitted, unless the field has presence
//	fields of unknown numbers    omitted
//
// TensorFlow's C++ writes the same form in its deterministic mode.

// Canonical returns a checked protobuf in its one form.
func Canonical(b []byte, m *Type) []byte {
	w := &canonicalWriter{out: make([]byte, 0, len(b)+len(b)/64+16)}
	w.message(b, m)
	return w.out
}

// Ordered returns a checked protobuf with its fields in canonical order and fields of
// unknown numbers last. Each field keeps its original bytes, also those of its tag and
// its length. The checksum in fingerprint.pb is over this form: C++ computes it, and
// Python, which writes the file, sorts the keys of maps differently. Other bytes for the
// same value give another checksum, so every flipped bit is detected.
func Ordered(b []byte, m *Type) []byte {
	w := &canonicalWriter{orderOnly: true, out: make([]byte, 0, len(b))}
	w.message(b, m)
	return w.out
}

// canonicalWriter holds the write buffers for every depth.
type canonicalWriter struct {
	orderOnly bool
	parts     []part
	out       []byte
}

// part is one field of a message, tag included.
type part struct {
	num   protowire.Number
	field fieldType
	key   mapKey
	value wire.Field
}

// message writes a message without its length.
func (w *canonicalWriter) message(b []byte, m *Type) {
	first := len(w.parts)
	w.split(b, m)
	parts := w.parts[first:]
	if m.Name == "NodeDef" && !w.orderOnly {
		redirect(parts)
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.key.text, b.key.text), cmp.Compare(a.key.number, b.key.number))
	})
	if m.entry && !w.orderOnly {
		w.entry(parts, m)
	} else {
		for len(parts) > 0 {
			parts = parts[w.field(parts):]
		}
	}
	w.parts = w.parts[:first]
}

// split adds the fields of a message to w.parts.
func (w *canonicalWriter) split(b []byte, m *Type) {
	for f := range wire.Fields(b) {
		p := part{num: f.Num, field: m.Field(f.Num), value: f}
		if p.field.mapped {
			p.key = keyOf(f.Num, f.Bytes, p.field.Message)
		}
		if !p.field.known {
			if !w.orderOnly {
				continue
			}
			p.num = protowire.MaxValidNumber + 1 // sorts after all known numbers
		}
		w.parts = append(w.parts, p)
	}
}

// redirect makes a node that prints to stdout print to stderr instead. A program that
// runs the model may write rows of data to stdout, and a model must not forge them.
func redirect(node []part) {
	prints := func(p part) bool { return p.num == NodeOp && string(p.value.Bytes) == printOp }
	if !slices.ContainsFunc(node, prints) {
		return
	}
	for i, p := range node {
		name, value := MapEntry(p.value.Bytes)
		if where, _ := AttrString(value); p.num == NodeAttr && name == PrintStream && where == "stdout" {
			entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
			value = protowire.AppendString(protowire.AppendTag(nil, attrStringField, protowire.BytesType), "stderr")
			node[i].value.Bytes = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), value)
		}
	}
}

// entry writes the entry of a map, key and value, even if they are zero.
func (w *canonicalWriter) entry(parts []part, m *Type) {
	for num := protowire.Number(1); num <= 2; num++ {
		i := slices.IndexFunc(parts, func(p part) bool { return p.num == num })
		if i < 0 {
			field := m.Field(num)
			w.value(part{num: num, field: field, value: wire.Field{Wire: field.wire}})
			continue
		}
		w.value(parts[i])
	}
}

// field writes the first of some parts, together with the others of the same list of
// numbers, and returns the number of parts written.
func (w *canonicalWriter) field(parts []part) int {
	p := parts[0]
	switch {
	case w.orderOnly:
		w.verbatim(p)
		return 1
	case p.field.packable:
		return w.packed(parts)
	case p.field.implicit && isZero(p):
		return 1
	}
	w.value(p)
	return 1
}

// isZero reports whether a field holds its type's zero value.
func isZero(p part) bool {
	if p.value.Wire == protowire.BytesType {
		return len(p.value.Bytes) == 0
	}
	return narrow(p.field.kind, p.value.Number) == 0
}

// verbatim writes the original bytes of a field. In a message it only moves the fields.
func (w *canonicalWriter) verbatim(p part) {
	raw := p.value.Raw
	if p.field.Message == nil {
		w.out = append(w.out, raw...)
		return
	}
	w.out = append(w.out, raw[:len(raw)-len(p.value.Bytes)]...)
	w.message(p.value.Bytes, p.field.Message)
}

// value writes one field.
func (w *canonicalWriter) value(p part) {
	w.out = protowire.AppendTag(w.out, p.num, p.field.wire)
	if p.field.Message == nil {
		p.value.Number = narrow(p.field.kind, p.value.Number)
		w.scalar(p.value)
		return
	}
	start := len(w.out)
	w.message(p.value.Bytes, p.field.Message)
	w.prefix(start)
}

// prefix inserts at start the length of the bytes written since.
func (w *canonicalWriter) prefix(start int) {
	size := len(w.out) - start
	shift := protowire.SizeVarint(uint64(size))
	w.out = append(w.out, make([]byte, shift)...)
	copy(w.out[start+shift:], w.out[start:start+size])
	protowire.AppendVarint(w.out[start:start], uint64(size))
}

// packed writes a list of numbers as one field, from all leading parts that belong to
// it, and returns the number of these parts.
func (w *canonicalWriter) packed(parts []part) int {
	first := parts[0]
	n := 1
	for n < len(parts) && parts[n].num == first.num {
		n++
	}
	w.out = protowire.AppendTag(w.out, first.num, protowire.BytesType)
	start := len(w.out)
	for _, p := range parts[:n] {
		w.numbers(p)
	}
	if len(w.out) == start { // an empty list is not written
		w.out = w.out[:start-protowire.SizeTag(first.num)]
		return n
	}
	w.prefix(start)
	return n
}

// numbers writes the elements of one part of a list of numbers.
func (w *canonicalWriter) numbers(p part) {
	if p.value.Wire != protowire.BytesType {
		p.value.Number = narrow(p.field.kind, p.value.Number)
		w.scalar(p.value)
		return
	}
	if p.field.wire != protowire.VarintType {
		w.out = append(w.out, p.value.Bytes...)
		return
	}
	for _, v := range p.value.Numbers() {
		w.out = protowire.AppendVarint(w.out, narrow(p.field.kind, v))
	}
}

// scalar writes a value without a tag.
func (w *canonicalWriter) scalar(f wire.Field) {
	switch f.Wire {
	case protowire.VarintType:
		w.out = protowire.AppendVarint(w.out, f.Number)
	case protowire.Fixed32Type:
		w.out = protowire.AppendFixed32(w.out, uint32(f.Number))
	case protowire.Fixed64Type:
		w.out = protowire.AppendFixed64(w.out, f.Number)
	case protowire.BytesType:
		w.out = protowire.AppendBytes(w.out, f.Bytes)
	}
}

// narrow returns a varint as a parser stores it in a field of a kind: only the
// bits that fit.
func narrow(k protoreflect.Kind, v uint64) uint64 {
	switch k {
	case protoreflect.BoolKind:
		return uint64(protowire.EncodeBool(v != 0))
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		return uint64(int64(int32(v)))
	case protoreflect.Uint32Kind, protoreflect.Sint32Kind:
		return uint64(uint32(v))
	}
	return v
}

// printOp is an operation that prints to the stream in its attribute printStream.
const (
	printOp     = "PrintV2"
	PrintStream = "output_stream"
)
