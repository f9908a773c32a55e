package savedmodel

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Limits of a message.
const (
	maxMessageDepth = 100     // of nested messages, TensorFlow's own limit
	maxMapKeys      = 1 << 20 // of the maps around one place in a protobuf
)

// wireError is a place in a protobuf that is not what its type says.
type wireError struct {
	offset  int64
	message string // type of the message around it
	what    string
	cut     bool // the data ends too early
}

func (e *wireError) Error() string {
	return fmt.Sprintf("offset %d: in %s: %s", e.offset, e.message, e.what)
}

// wireCheck walks a protobuf without building anything from it. It is stricter
// than a parser. A field that is written twice or in a wrong form could be read in
// two ways, and TensorFlow must run what was checked.
type wireCheck struct {
	unknown *wireError // the first field that the type does not have, nil if none
	keys    []mapKey   // of the messages being walked
}

// mapKey is one key of a map field.
type mapKey struct {
	num    protowire.Number
	text   string
	number uint64
}

// whole reports whether b is a well-formed m.
func (c *wireCheck) whole(b []byte, m *messageType) error { return c.check(b, 0, m, 0) }

// check is whole for a message that starts at offset base, in depth others.
func (c *wireCheck) check(b []byte, base int64, m *messageType, depth int) error {
	if depth > maxMessageDepth {
		return &wireError{offset: base, message: m.name, what: fmt.Sprintf("messages nest deeper than %d", maxMessageDepth)}
	}
	var seen seenFields
	firstKey := len(c.keys)
	for pos := 0; pos < len(b); {
		start := base + int64(pos)
		num, wire, n := protowire.ConsumeTag(b[pos:])
		if n < 0 {
			return badWire(start, m, "a field's tag", n)
		}
		if num > protowire.MaxValidNumber {
			// A tag has 32 bits. C++ drops those above and reads another field.
			return &wireError{offset: start, message: m.name, what: "a tag of more than 32 bits"}
		}
		if wire == protowire.StartGroupType || wire == protowire.EndGroupType {
			return &wireError{offset: start, message: m.name, what: "a group, which TensorFlow does not use"}
		}
		pos += n
		size := protowire.ConsumeFieldValue(num, wire, b[pos:])
		if size < 0 {
			return badWire(start, m, fmt.Sprintf("field %d", num), size)
		}
		f := m.field(num)
		if f.once > 0 && seen.add(f.once) {
			return &wireError{offset: start, message: m.name, what: fmt.Sprintf("field %d is there twice, or beside one that excludes it", num)}
		}
		v := wireValue{bytes: b[pos : pos+size], base: base + int64(pos), num: num, wire: wire}
		if err := c.checkValue(v, m, f, depth); err != nil {
			return err
		}
		pos += size
	}
	err := c.checkKeys(c.keys[firstKey:], base, m)
	c.keys = c.keys[:firstKey]
	return err
}

// wireValue is the value of one field, without its tag, and its place.
type wireValue struct {
	bytes []byte
	base  int64
	num   protowire.Number
	wire  protowire.Type
}

// checkValue checks the value of one field of a message m.
func (c *wireCheck) checkValue(v wireValue, m *messageType, f fieldType, depth int) error {
	fail := func(format string, args ...any) error {
		return &wireError{offset: v.base, message: m.name, what: fmt.Sprintf(format, args...)}
	}
	if !f.known {
		if c.unknown == nil {
			c.unknown = &wireError{offset: v.base, message: m.name, what: fmt.Sprintf("field %d is not known", v.num)}
		}
		return nil
	}
	packed := f.packable && v.wire == protowire.BytesType
	if f.wire != v.wire && !packed {
		return fail("field %d has wire type %d, not %d", v.num, v.wire, f.wire)
	}
	if v.wire != protowire.BytesType {
		return nil
	}
	content, n := protowire.ConsumeBytes(v.bytes)
	v.base += int64(n - len(content))
	switch {
	case f.message != nil:
		if f.mapped {
			if len(c.keys) == maxMapKeys {
				return fail("maps with more than %d keys", maxMapKeys)
			}
			c.keys = append(c.keys, keyOf(v.num, content, f.message))
		}
		return c.check(content, v.base, f.message, depth+1)
	case packed:
		v.bytes, v.wire = content, f.wire
		return checkPacked(v, m)
	case f.text && !utf8.Valid(content):
		return fail("field %d is not UTF-8", v.num)
	}
	return nil
}

// keyOf reads the key of a map entry of type m. A missing key is empty. As a parser
// does, it drops the bits of a number that the key's type does not have.
func keyOf(num protowire.Number, entry []byte, m *messageType) mapKey {
	k := mapKey{num: num}
	for f := range fieldsOf(entry) {
		if f.num == 1 {
			k.text, k.number = string(f.bytes), narrow(m.field(1).kind, f.number)
		}
	}
	return k
}

// checkKeys refuses a map that has a key twice.
func (c *wireCheck) checkKeys(keys []mapKey, base int64, m *messageType) error {
	if len(keys) < 2 {
		return nil
	}
	slices.SortFunc(keys, func(a, b mapKey) int {
		return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.text, b.text), cmp.Compare(a.number, b.number))
	})
	for i := range keys[1:] {
		if keys[i] == keys[i+1] {
			return &wireError{offset: base, message: m.name, what: fmt.Sprintf("field %d has a key twice", keys[i].num)}
		}
	}
	return nil
}

// checkPacked checks a list of numbers without tags; v.wire is how each is
// written.
func checkPacked(v wireValue, m *messageType) error {
	for pos := 0; pos < len(v.bytes); {
		n := protowire.ConsumeFieldValue(v.num, v.wire, v.bytes[pos:])
		if n < 0 {
			return badWire(v.base+int64(pos), m, fmt.Sprintf("packed field %d", v.num), n)
		}
		pos += n
	}
	return nil
}

// badWire is the error for what protowire could not read; n is its verdict.
func badWire(at int64, m *messageType, what string, n int) error {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return &wireError{offset: at, message: m.name, what: what + " is cut off", cut: true}
	}
	return &wireError{offset: at, message: m.name, what: what + " cannot be read"}
}
