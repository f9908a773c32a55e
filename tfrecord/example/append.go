package example

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// # How messages are written
//
// Each level of an Example begins with its length, which is only known after its
// content:
//
//	Example  0a LEN | entry | entry ...
//	entry    0a LEN | 0a LEN name | 12 LEN feature
//	feature  KIND LEN | list        KIND: 0a bytes, 12 float, 1a int64
//	list     0a LEN | packed numbers, or 0a LEN value for each byte string
//
// The lengths of a feature follow from its values without writing them. So an entry is
// written in one pass, without a buffer for each level. Only the outermost length
// depends on all entries: [begin] reserves some bytes for it, and [end] moves the
// content if the length takes a different number of bytes.
//
// The bytes before the values of a struct field are mostly the same in each record,
// because the numbers of an array of floats always have the same size. [heads] keeps
// these bytes.

// integer is a type that an int64 list stores.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// littleEndian reports whether numbers have the same byte order in memory as in a
// record.
var littleEndian = NativeEndian() == "little"

// floating is a type that a float list stores, as 32 bits.
type floating interface{ ~float32 | ~float64 }

// text is a type that a bytes list stores.
type text interface{ ~string | ~[]byte }

// begin appends the tag of a field and space for a length of one byte. It returns the
// start of the content.
func begin(b []byte, tag byte) ([]byte, int) {
	b = append(b, tag, 0)
	return b, len(b)
}

// end writes the length of the field whose content begins at start, as returned by
// [begin].
func end(b []byte, start int) []byte { return endWide(b, start, 1) }

// beginWide is begin with space for a length of several bytes.
func beginWide(b []byte, tag byte, width int) ([]byte, int) {
	b = append(append(b, tag), make([]byte, width)...)
	return b, len(b)
}

// endWide is end for a field that [beginWide] began.
func endWide(b []byte, start, width int) []byte {
	n := len(b) - start
	if more := varintLen(n) - width; more != 0 {
		b = append(b, make([]byte, max(0, more))...)
		copy(b[start+more:], b[start:start+n])
		b = b[:start+more+n]
	}
	binary.PutUvarint(b[start-width:], uint64(n))
	return b
}

// varintLen returns the length of the varint of n.
func varintLen(n int) int { return varintLen64(uint64(n)) }

func varintLen64(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// fieldLen returns the length of a field with n bytes of content.
func fieldLen(n int) int { return 1 + varintLen(n) + n }

// appendHead appends a tag and the length of its content.
func appendHead(b []byte, tag byte, n int) []byte {
	return binary.AppendUvarint(append(b, tag), uint64(n))
}

// place is the target of a feature: an entry of a map, by its name, or the next step of
// a feature list.
type place struct {
	name  string
	step  bool
	known *heads // nil: none
}

// heads are the bytes before packed numbers of several lengths, at a place.
type heads struct {
	tag  byte     // tag of the kind of numbers
	from int      // length of the numbers after the first head
	all  [][]byte // the heads of records by length, from length from on
}

// keepHeads makes a place keep the heads of n lengths.
func (p *place) keepHeads(tag byte, from, count int) {
	h := &heads{tag: tag, from: from}
	for n := from; n < from+count; n++ {
		h.all = append(h.all, p.appendPacked(nil, tag, n))
	}
	p.known = h
}

// appendHead appends the bytes before a feature of n bytes.
func (p place) appendHead(b []byte, n int) []byte {
	if p.step {
		return appendHead(b, tagBytes1, n)
	}
	b = appendHead(b, tagBytes1, fieldLen(len(p.name))+fieldLen(n))
	b = append(appendHead(b, tagBytes1, len(p.name)), p.name...)
	return appendHead(b, tagBytes2, n)
}

// appendPacked appends a feature of packed numbers up to the first of them; they
// take n bytes.
func (p place) appendPacked(b []byte, tag byte, n int) []byte {
	if h := p.known; h != nil && tag == h.tag && n >= h.from && n-h.from < len(h.all) {
		return append(b, h.all[n-h.from]...)
	}
	list := 0
	if n > 0 {
		list = fieldLen(n)
	}
	b = p.appendHead(b, fieldLen(list))
	b = appendHead(b, tag, list)
	if n > 0 {
		b = appendHead(b, tagBytes1, n)
	}
	return b
}

// appendInts appends a feature of integers.
func appendInts[T integer](b []byte, p place, values []T) []byte {
	n := 0
	for _, v := range values {
		n += varintLen64(uint64(int64(v)))
	}
	b = p.appendPacked(b, tagBytes3, n)
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(int64(v)))
	}
	return b
}

// appendBools appends a feature of the integers 0 and 1.
func appendBools(b []byte, p place, values []bool) []byte {
	b = p.appendPacked(b, tagBytes3, len(values))
	for _, v := range values {
		bit := byte(0)
		if v {
			bit = 1
		}
		b = append(b, bit)
	}
	return b
}

// appendFloats appends a feature of floats.
func appendFloats[T floating](b []byte, p place, values []T) []byte {
	b = p.appendPacked(b, tagBytes2, 4*len(values))
	if unsafe.Sizeof(T(0)) == 4 && littleEndian {
		return append(b, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))...)
	}
	start := len(b)
	b = slices.Grow(b, 4*len(values))[:start+4*len(values)]
	for i, v := range values {
		binary.LittleEndian.PutUint32(b[start+4*i:], math.Float32bits(float32(v)))
	}
	return b
}

// appendTexts appends a feature of byte strings.
func appendTexts[T text](b []byte, p place, values []T) []byte {
	n := 0
	for _, v := range values {
		n += fieldLen(len(v))
	}
	b = p.appendHead(b, fieldLen(n))
	b = appendHead(b, tagBytes1, n)
	for _, v := range values {
		b = append(appendHead(b, tagBytes1, len(v)), v...)
	}
	return b
}

// appendFeature appends a feature of any kind. One of kind None has no list.
func appendFeature(b []byte, p place, f *Feature) []byte {
	switch f.Kind {
	case Bytes:
		return appendTexts(b, p, f.Bytes)
	case Float:
		return appendFloats(b, p, f.Floats)
	case Int64:
		return appendInts(b, p, f.Ints)
	}
	return p.appendHead(b, 0)
}
