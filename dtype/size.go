package dtype

import (
	"math"

	"millrace"
)

// MaxRank is the largest number of dimensions that TensorFlow allows; it ends the
// process for more.
const MaxRank = 254

// StringSize is the size of an element of a string tensor in bytes. Strings longer than
// 22 bytes are stored separately and not counted.
const StringSize = 24

// Elements returns the number of elements of a tensor with dimensions dims: 1 for a
// scalar. It fails for an unknown dimension, for more than [MaxRank] dimensions and for
// a product that does not fit in 63 bits.
//
// Such a product fails even where one dimension is 0 and there are no elements:
// TensorFlow multiplies the others first, and ends the process.
func Elements(dims []int64) (int64, error) {
	if len(dims) > MaxRank {
		return 0, errRank(len(dims))
	}
	n, empty := int64(1), false
	for _, d := range dims {
		switch {
		case d < 0:
			return 0, millrace.Errorf(millrace.ErrSchema, "shape %v has a negative dimension", dims)
		case d == 0:
			empty = true
		case n > math.MaxInt64/d:
			return 0, millrace.Errorf(millrace.ErrLimit, "shape %v has more elements than fit in 63 bits", dims)
		default:
			n *= d
		}
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

// ByteSize returns the number of elements and bytes of a tensor. A string counts as
// [StringSize] bytes, and an element of another type without a fixed size as 1. It
// fails as [Elements] does, and for more bytes than fit in 63 bits.
func ByteSize(d DataType, dims []int64) (n, bytes int64, err error) {
	if n, err = Elements(dims); err != nil {
		return 0, 0, err
	}
	size := int64(max(d.Size(), 1))
	if d == String {
		size = StringSize
	}
	if n > math.MaxInt64/size {
		return 0, 0, millrace.Errorf(millrace.ErrLimit, "shape %v of %v has more bytes than fit in 63 bits", dims, d)
	}
	return n, n * size, nil
}

// errRank is the error about too many dimensions.
func errRank(n int) error {
	return millrace.Errorf(millrace.ErrLimit, "shape has %d dimensions, TensorFlow allows %d", n, MaxRank)
}
