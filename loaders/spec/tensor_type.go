package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"millrace/diag"
	"millrace/dtype"
)

// loadableTypes are the dtypes that a pipeline's tensors can have: those that
// TensorFlow can cast to or decode, pad and batch.
var loadableTypes = []dtype.DataType{
	dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double,
	dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64,
	dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64,
	dtype.Bool, dtype.String, dtype.Complex64, dtype.Complex128,
}

// loadable returns the dtype of a name if tensors can have it.
func loadable(name string) (dtype.DataType, bool) {
	for _, d := range loadableTypes {
		if d.String() == name {
			return d, true
		}
	}
	return 0, false
}

func loadableNames() []string {
	names := make([]string, len(loadableTypes))
	for i, d := range loadableTypes {
		names[i] = d.String()
	}
	return names
}

// dtypeHint proposes a dtype for a name that is none.
func dtypeHint(name string) string {
	if other, ok := dtype.ParseOther(name); ok {
		return fmt.Sprintf("did you mean %q?", other)
	}
	if hint := diag.DidYouMean(name, loadableNames()); hint != "" {
		return hint
	}
	return "the dtypes are " + strings.Join(loadableNames(), ", ")
}

// ByteSize returns how many bytes n tensors of a shape take, unknown
// dimensions counted as 1. It is false if they are too many to add them to
// others.
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

// FormatShape returns a shape as it is written: [-1, 3].
func FormatShape(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
