package bytecheck

import (
	"encoding/binary"

	"millrace"
	"millrace/dtype"
)

// The fields of a TensorProto and of a TensorShapeProto that a check reads.
const (
	tensorDType    = 1
	tensorShape    = 2
	tensorContent  = 4
	tensorString   = 8
	tensorInt64    = 10
	tensorResource = 14
	tensorVariant  = 15

	shapeDim = 2
	dimSize  = 1
)

// header has the values claimed by a TensorProto.
type header struct {
	dtype    dtype.DataType
	dims     []int64
	content  []byte // tensor_content
	strings  int64  // values in string_val
	last     int64  // bytes in the last of them
	elements int64

	wantInts bool    // read ints
	ints     []int64 // the first dtype.MaxRank values of int64_val
}

// tensor checks one TensorProto of a data type, 0 if the type is unknown.
func (s Spec) tensor(b []byte, want dtype.DataType, h *header) error {
	if err := h.read(b); err != nil {
		return err
	}
	switch {
	case h.dtype == dtype.Resource || h.dtype == dtype.Variant:
		return refused(millrace.ErrSchema, "a TensorProto of dtype %v: a handle cannot come from bytes", h.dtype)
	case want != 0 && h.dtype != want:
		return refused(millrace.ErrSchema, "a TensorProto of dtype %v, want %v", h.dtype, want)
	case !h.dtype.Known():
		return refused(millrace.ErrSchema, "a TensorProto of dtype %d, which does not exist", int32(h.dtype))
	}
	return s.size(b, h)
}

// read reads the claims of a TensorProto.
func (h *header) read(b []byte) error {
	m := message{rest: b}
	for f, ok := m.next(); ok; f, ok = m.next() {
		if err := h.add(f); err != nil {
			return err
		}
	}
	if m.bad {
		return refused(millrace.ErrCorrupt, "%d bytes that are not a TensorProto", len(b))
	}
	return nil
}

// add reads one field of a TensorProto.
func (h *header) add(f field) error {
	switch {
	case f.num == tensorDType && f.wire == wireVarint:
		h.dtype = dtype.DataType(int32(f.number))
	case f.num == tensorInt64 && h.wantInts:
		h.addInts(f)
	case f.wire != wireBytes: // a list of numbers, or an unknown field
	case f.num == tensorShape:
		return h.addShape(f.bytes)
	case f.num == tensorContent:
		h.content = f.bytes
	case f.num == tensorString:
		h.strings++
		h.last = int64(len(f.bytes))
	case f.num == tensorResource || f.num == tensorVariant:
		return refused(millrace.ErrSchema, "a TensorProto with the value of a resource or variant: a handle cannot come from bytes")
	}
	return nil
}

// addShape adds the dimensions of a TensorShapeProto.
func (h *header) addShape(b []byte) error {
	m := message{rest: b}
	for f, ok := m.next(); ok; f, ok = m.next() {
		if f.num != shapeDim || f.wire != wireBytes {
			continue
		}
		size := int64(0)
		dim := message{rest: f.bytes}
		for f, ok := dim.next(); ok; f, ok = dim.next() {
			if f.num == dimSize && f.wire == wireVarint {
				size = int64(f.number)
			}
		}
		if size < 0 {
			return refused(millrace.ErrSchema, "a TensorProto with a dimension of size %d", size)
		}
		if len(h.dims) == dtype.MaxRank {
			return refused(millrace.ErrLimit, "a TensorProto of more than %d dimensions", dtype.MaxRank)
		}
		m.bad = m.bad || dim.bad
		h.dims = append(h.dims, size)
	}
	if m.bad {
		return refused(millrace.ErrCorrupt, "a TensorProto whose shape cannot be read")
	}
	return nil
}

// addInts adds the first values of int64_val.
func (h *header) addInts(f field) {
	if f.wire == wireVarint && len(h.ints) < dtype.MaxRank {
		h.ints = append(h.ints, int64(f.number))
	}
	packed := message{rest: f.bytes}
	for len(packed.rest) > 0 && len(h.ints) < dtype.MaxRank {
		v, ok := packed.varint(10)
		if !ok {
			return // TensorFlow refuses the message
		}
		h.ints = append(h.ints, int64(v))
	}
}

// size compares the size that a TensorProto claims with its bytes.
func (s Spec) size(b []byte, h *header) (err error) {
	var bytes int64
	h.elements, bytes, err = dtype.ByteSize(h.dtype, h.dims)
	if err != nil {
		return refused(millrace.ErrLimit, "a TensorProto: %w", err)
	}
	there := int64(len(h.content))
	switch {
	case there > 0 && h.dtype != dtype.String && there != bytes:
		return refused(millrace.ErrSchema, "a TensorProto of shape %v of %v needs %d bytes of content, has %d", h.dims, h.dtype, bytes, there)
	case there > 0 && h.dtype == dtype.String && h.elements > there: // each has a length
		return refused(millrace.ErrSchema, "a TensorProto of %d strings with %d bytes of content", h.elements, there)
	case there > 0:
		return nil
	}
	if h.dtype == dtype.String {
		return s.repeated(b, h, h.elements-h.strings, dtype.StringSize+h.last)
	}
	if bytes <= growth*int64(len(b)) {
		return nil
	}
	return s.repeated(b, h, h.elements, int64(max(h.dtype.Size(), 1)))
}

// repeated refuses a TensorProto whose last value is repeated so often that it exceeds
// the limit.
func (s Spec) repeated(b []byte, h *header, n, each int64) error {
	if n <= 0 || n <= s.limit()/each {
		return nil
	}
	return refused(millrace.ErrLimit, "a TensorProto of %d bytes claims shape %v of %v: repeated values may take %d bytes", len(b), h.dims, h.dtype, s.limit())
}

// int64s returns the first values of an int64 tensor of a checked TensorProto.
func (h *header) int64s() []int64 {
	n := min(h.elements, dtype.MaxRank)
	values := make([]int64, n)
	for i := range values {
		switch {
		case len(h.content) > 0:
			values[i] = int64(binary.LittleEndian.Uint64(h.content[8*i:]))
		case len(h.ints) > 0:
			values[i] = h.ints[min(i, len(h.ints)-1)]
		}
	}
	return values
}
