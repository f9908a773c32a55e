package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"millrace/dtype"
)

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

// FormatShape returns a shape as it is written: [-1, 3].
func FormatShape(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
