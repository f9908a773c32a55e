package example

import (
	"encoding/binary"
	"math"

	"millrace"
)

// Kind is the kind of list that a feature has.
type Kind uint8

// The kinds of features. A feature of kind None was written without a list; TensorFlow
// treats it as absent.
const (
	None Kind = iota
	Bytes
	Float
	Int64
)

// String returns the name of the list in a message to the user.
func (k Kind) String() string {
	switch k {
	case Bytes:
		return "bytes"
	case Float:
		return "float"
	case Int64:
		return "int64"
	}
	return "none"
}

// Feature is a decoded feature: its kind and the list of that kind.
type Feature struct {
	Kind   Kind
	Bytes  [][]byte
	Floats []float32
	Ints   []int64
}

// Len returns the number of values.
func (f Feature) Len() int {
	switch f.Kind {
	case Bytes:
		return len(f.Bytes)
	case Float:
		return len(f.Floats)
	case Int64:
		return len(f.Ints)
	}
	return 0
}

// Raw is a feature that was checked and counted but not decoded. Its zero value is an
// absent feature.
type Raw struct {
	kind   Kind
	packed bool
	n      int
	list   []byte
}

// Kind returns the feature's kind.
func (r Raw) Kind() Kind { return r.kind }

// Len returns the number of values, without decoding them.
func (r Raw) Len() int { return r.n }

// Packed reports whether numbers are packed into one field, as writers do it.
func (r Raw) Packed() bool { return r.packed }

// Decode returns the values. It cannot fail. It allocates the result.
func (r Raw) Decode() Feature {
	f := Feature{Kind: r.kind}
	switch r.kind {
	case Bytes:
		f.Bytes = r.decodeBytes()
	case Float:
		f.Floats = r.decodeFloats()
	case Int64:
		f.Ints = r.decodeInts()
	}
	return f
}

// ByteLens returns the length of each value of a feature of kind Bytes.
func (r Raw) ByteLens() []int {
	if r.kind != Bytes {
		return nil
	}
	lens := make([]int, 0, r.n)
	for b := r.list; len(b) > 0; {
		n, used := binary.Uvarint(b[1:])
		lens = append(lens, int(n))
		b = b[1+used+int(n):]
	}
	return lens
}

func (r Raw) decodeBytes() [][]byte {
	values := make([][]byte, 0, r.n)
	for b := r.list; len(b) > 0; {
		n, used := binary.Uvarint(b[1:])
		start, end := 1+used, 1+used+int(n)
		values = append(values, b[start:end:end])
		b = b[end:]
	}
	return values
}

func (r Raw) decodeFloats() []float32 {
	values := make([]float32, 0, r.n)
	stride, skip := 4, 0
	if !r.packed {
		stride, skip = 5, 1
	}
	for b := r.list; len(b) > 0; b = b[stride:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(b[skip:])))
	}
	return values
}

func (r Raw) decodeInts() []int64 {
	values := make([]int64, 0, r.n)
	for b := r.list; len(b) > 0; {
		if !r.packed {
			b = b[1:]
		}
		v, used := binary.Uvarint(b)
		values = append(values, int64(v))
		b = b[used:]
	}
	return values
}

// readFeature checks and counts a feature.
func readFeature(m message) (Raw, error) {
	if m.rest() == 0 {
		return Raw{}, nil
	}
	r := Raw{}
	var err error
	if r.kind, err = m.kind(); err != nil {
		return Raw{}, err
	}
	list, err := m.field(m.record[m.pos], "a list")
	if err != nil {
		return Raw{}, err
	}
	for m.rest() > 0 { // unknown fields
		if _, err := m.kind(); err == nil {
			return Raw{}, m.fault(m.pos, "a second list in a feature, which TensorFlow passes over")
		}
		if err := m.skip(); err != nil {
			return Raw{}, err
		}
	}
	if r.kind == Bytes {
		err = r.readBytes(list)
	} else {
		err = r.readNumbers(list)
	}
	return r, err
}

// kind returns the kind of the list that a feature starts with.
func (m *message) kind() (Kind, error) {
	switch tag := m.record[m.pos]; tag {
	case tagBytes1:
		return Bytes, nil
	case tagBytes2:
		return Float, nil
	case tagBytes3:
		return Int64, nil
	default:
		return None, m.fault(m.pos, "tag %#02x where a list of bytes, floats or int64s begins", tag)
	}
}

// readBytes checks and counts a list of byte strings.
func (r *Raw) readBytes(m message) error {
	r.list = m.bytes()
	for m.rest() > 0 {
		if _, err := m.field(tagBytes1, "a byte string"); err != nil {
			return err
		}
		r.n++
	}
	return nil
}

// readNumbers checks and counts a list of floats or int64s, packed or not.
func (r *Raw) readNumbers(m message) error {
	one := byte(tagVarint1)
	if r.kind == Float {
		one = tagFixed321
	}
	if m.rest() == 0 {
		return nil
	}
	if m.record[m.pos] == tagBytes1 {
		r.packed = true
		values, err := m.field(tagBytes1, "a packed list")
		if err != nil {
			return err
		}
		if m.rest() > 0 {
			return m.fault(m.pos, "%d bytes after a packed list, which TensorFlow passes over", m.rest())
		}
		m = values
	}
	r.list = m.bytes()
	for m.rest() > 0 {
		if !r.packed {
			if m.record[m.pos] != one {
				return m.fault(m.pos, "tag %#02x where a %s begins", m.record[m.pos], r.kind)
			}
			m.pos++
		} else if r.kind == Float {
			return r.packedFloats(m)
		}
		if err := m.number(r.kind); err != nil {
			return err
		}
		r.n++
	}
	return nil
}

// packedFloats counts floats without reading each of them.
func (r *Raw) packedFloats(m message) error {
	if m.rest()%4 != 0 {
		return m.fault(m.pos, "a packed list of floats has %d bytes, no multiple of 4", m.rest())
	}
	r.n = m.rest() / 4
	return nil
}

// number skips one float or int64.
func (m *message) number(k Kind) error {
	if k == Int64 {
		_, err := m.varint()
		return err
	}
	if m.rest() < 4 {
		return m.fault(m.pos, "a float of 4 bytes, %d remain", m.rest())
	}
	m.pos += 4
	return nil
}

// inFeature adds the name of the feature to an error.
func inFeature(err error, name string) error {
	if e, ok := err.(*millrace.Error); ok {
		e.Feature = name[:min(len(name), maxName)]
	}
	return err
}

// maxName is the maximum length of a feature's name in an error.
const maxName = 256
