package spec

import (
	"fmt"
	"strings"

	"millrace/dtype"
	"millrace/loaders/diag"
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
