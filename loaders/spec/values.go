package spec

import (
	"math"
	"slices"

	"millrace/dtype"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ByteSize returns the size in bytes of n tensors of a shape, with unknown dimensions
// counted as 1. It is false if sums of such sizes could overflow.
func ByteSize(d dtype.DataType, n int64, shape []int64) (int64, bool) {
	dims := []int64{n}
	for _, dim := range shape {
		if dim >= 0 {
			dims = append(dims, dim)
		}
	}
	_, bytes, err := dtype.ByteSize(d, dims)
	return bytes, err == nil && bytes <= 1<<62
}

// NumElements returns the number of elements of a shape without unknown
// dimensions, and the largest int64 for one that [dtype.Elements] refuses.
func NumElements(shape []int64) int64 {
	n, err := dtype.Elements(shape)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// PaddedShape returns a tensor's shape after it was padded to another, in which
// -1 is the longest of the batch. Neither has the batch dimension.
func PaddedShape(shape, to []int64) []int64 {
	out := slices.Clone(shape)
	for i, d := range to {
		if d >= 0 {
			out[i] = d
		}
	}
	return out
}

// Value is a value of a tensor as it is written; see [processing.Value].
type Value = processing.Value

// IsUnsigned reports whether the values of a dtype are unsigned integers.
func IsUnsigned(d tfbridge.DataType) bool { return processing.KindOf(d) == processing.UnsignedKind }

// ZeroValue returns the value of a tensor for which none is given.
func ZeroValue(d tfbridge.DataType) any { return processing.ZeroValue(d) }
