package bundle

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"millrace/internal/base/wire"
)

// A variable may be saved in slices: its own entry lists them, and each has an entry
// with its bytes. TensorFlow copies the slices into the variable's memory, as many bytes
// as the lists say, and looks at neither the types nor the shapes of the slices' entries.
// So an index that lies about them would have it read and write outside of the tensors.

// Field numbers of TensorSliceProto and its Extent.
const (
	sliceExtent = 1

	extentStart, extentLength = 1, 2
)

// slicePrefix is the prefix of the entries for the parts of a variable that was saved
// in slices.
const slicePrefix = "\x00"

// maxSlices is the largest number of slices of a variable. TensorFlow compares each with
// all others.
const maxSlices = 1 << 14

// extent is the part of one dimension that is in a slice. A count of -1 is the whole
// dimension.
type extent struct{ from, count int64 }

// parseSlice reads a checked TensorSliceProto.
func parseSlice(b []byte) (extents []extent) {
	for f := range wire.Fields(b) {
		if f.Num != sliceExtent {
			continue
		}
		e := extent{count: -1}
		for v := range wire.Fields(f.Bytes) {
			switch v.Num {
			case extentStart:
				e.from = int64(v.Number)
			case extentLength:
				if e.count = int64(v.Number); e.count < 1 {
					e.count = -2 // fits nothing; TensorFlow takes -1 for the whole dimension
				}
			}
		}
		extents = append(extents, e)
	}
	return extents
}

// fits reports whether a slice is a part of a tensor with some dimensions. TensorFlow
// writes a slice that is the whole tensor as a tensor.
func fits(extents []extent, dims []int64) bool {
	if len(extents) != len(dims) {
		return false
	}
	whole := true
	for i, e := range extents {
		if e.count == -1 && e.from == 0 {
			continue
		}
		if whole = false; e.from < 0 || e.count < 1 || e.from > dims[i] || e.count > dims[i]-e.from {
			return false
		}
	}
	return !whole
}

// sizes returns the dimensions of a slice.
func sizes(extents []extent, dims []int64) []int64 {
	sizes := slices.Clone(dims)
	for i, e := range extents {
		if e.count != -1 {
			sizes[i] = e.count
		}
	}
	return sizes
}

// sliceKey returns the key of a slice's entry, in TensorFlow's ordered code: 0, the
// variable's name, the number of dimensions, then start and length for each.
func sliceKey(name string, extents []extent) string {
	key := []byte(slicePrefix)
	for i := range len(name) {
		switch c := name[i]; c {
		case 0x00:
			key = append(key, 0x00, 0xff)
		case 0xff:
			key = append(key, 0xff, 0x00)
		default:
			key = append(key, c)
		}
	}
	key = append(key, 0x00, 0x01)
	if n := len(extents); n > 0 {
		key = append(key, 1, byte(n)) // at most 254 dimensions
	} else {
		key = append(key, 0)
	}
	for _, e := range extents {
		key = appendOrdered(appendOrdered(key, e.from), e.count)
	}
	return string(key)
}

// appendOrdered appends a number in the ordered code. The first byte begins with one bit
// for each byte of the code, as in UTF-8; all bits of a negative number are inverted.
func appendOrdered(key []byte, v int64) []byte {
	n := bits.Len64(uint64(v^v>>63))/7 + 1
	code := make([]byte, 10) // sign-extended
	code[0], code[1] = byte(v>>63), byte(v>>63)
	binary.BigEndian.PutUint64(code[2:], uint64(v))
	code = code[10-n:]
	header := ^uint16(0) << (16 - n)
	code[0] ^= byte(header >> 8)
	if n > 1 {
		code[1] ^= byte(header)
	}
	return append(key, code...)
}
