package message

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
)

// Limits of a message.
const (
	MaxMessageDepth = 100     // nested messages, TensorFlow's own limit
	maxMapKeys      = 1 << 20 // keys of all maps around one position in a protobuf
)

// Error is a position in a protobuf that does not match its type.
type Error struct {
	Offset  int64
	Message string // type of the message around it
	What    string
	Cut     bool // the data ends too early
}

// Error returns the offset, the message type and the problem.
func (e *Error) Error() string {
	return fmt.Sprintf("offset %d: in %s: %s", e.Offset, e.Message, e.What)
}

// Checker walks a protobuf without building anything from it. It is stricter than a
// parser. A field that is written twice or in a wrong form could be read in two ways,
// and TensorFlow must run the graph that was checked.
type Checker struct {
	Unknown *Error   // the first field that the type does not have, nil if none
	keys    []mapKey // map keys of the messages being walked
}

// mapKey is one key of a map field.
type mapKey struct {
	num    protowire.Number
	text   string
	number uint64
}

// Whole reports whether b is a well-formed m.
func (c *Checker) Whole(b []byte, m *Type) error { return c.check(b, 0, m, 0) }

// check is whole for a message that starts at offset base, in depth others.
func (c *Checker) check(b []byte, base int64, m *Type, depth int) error {
	if depth > MaxMessageDepth {
		return &Error{Offset: base, Message: m.Name, What: fmt.Sprintf("messages nest deeper than %d", MaxMessageDepth)}
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
			// A tag has 32 bits. C++ drops higher bits and reads another field.
			return &Error{Offset: start, Message: m.Name, What: "a tag of more than 32 bits"}
		}
		if wire == protowire.StartGroupType || wire == protowire.EndGroupType {
			return &Error{Offset: start, Message: m.Name, What: "a group, which TensorFlow does not use"}
		}
		pos += n
		size := protowire.ConsumeFieldValue(num, wire, b[pos:])
		if size < 0 {
			return badWire(start, m, fmt.Sprintf("field %d", num), size)
		}
		f := m.Field(num)
		if f.once > 0 && seen.add(f.once) {
			return &Error{Offset: start, Message: m.Name, What: fmt.Sprintf("field %d is there twice, or beside one that excludes it", num)}
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

// wireValue is the value of one field, without its tag, and its position.
type wireValue struct {
	bytes []byte
	base  int64
	num   protowire.Number
	wire  protowire.Type
}

// checkValue checks the value of one field of a message m.
func (c *Checker) checkValue(v wireValue, m *Type, f fieldType, depth int) error {
	fail := func(format string, args ...any) error {
		return &Error{Offset: v.base, Message: m.Name, What: fmt.Sprintf(format, args...)}
	}
	if !f.known {
		if c.Unknown == nil {
			c.Unknown = &Error{Offset: v.base, Message: m.Name, What: fmt.Sprintf("field %d is not known", v.num)}
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
	case f.Message != nil:
		if f.mapped {
			if len(c.keys) == maxMapKeys {
				return fail("maps with more than %d keys", maxMapKeys)
			}
			c.keys = append(c.keys, keyOf(v.num, content, f.Message))
		}
		return c.check(content, v.base, f.Message, depth+1)
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
func keyOf(num protowire.Number, entry []byte, m *Type) mapKey {
	k := mapKey{num: num}
	for f := range wire.Fields(entry) {
		if f.Num == 1 {
			k.text, k.number = string(f.Bytes), narrow(m.Field(1).kind, f.Number)
		}
	}
	return k
}

// checkKeys refuses a map that has a key twice.
func (c *Checker) checkKeys(keys []mapKey, base int64, m *Type) error {
	if len(keys) < 2 {
		return nil
	}
	slices.SortFunc(keys, func(a, b mapKey) int {
		return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.text, b.text), cmp.Compare(a.number, b.number))
	})
	for i := range keys[1:] {
		if keys[i] == keys[i+1] {
			return &Error{Offset: base, Message: m.Name, What: fmt.Sprintf("field %d has a key twice", keys[i].num)}
		}
	}
	return nil
}

// checkPacked checks a list of numbers without tags; v.wire is how each is
// written.
func checkPacked(v wireValue, m *Type) error {
	for pos := 0; pos < len(v.bytes); {
		n := protowire.ConsumeFieldValue(v.num, v.wire, v.bytes[pos:])
		if n < 0 {
			return badWire(v.base+int64(pos), m, fmt.Sprintf("packed field %d", v.num), n)
		}
		pos += n
	}
	return nil
}

// badWire returns the error about bytes that protowire could not read; n is protowire's
// error code.
func badWire(at int64, m *Type, what string, n int) error {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return &Error{Offset: at, Message: m.Name, What: what + " is cut off", Cut: true}
	}
	return &Error{Offset: at, Message: m.Name, What: what + " cannot be read"}
}
