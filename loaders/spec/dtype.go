package spec

import (
	"fmt"
	"strings"

	"millrace/loaders/diag"
	"millrace/tfbridge"
)

// loadableTypes are the dtypes that a pipeline's tensors can have: those that
// TensorFlow can cast to or decode, pad and batch.
var loadableTypes = []tfbridge.DataType{
	tfbridge.Half, tfbridge.Bfloat16, tfbridge.Float, tfbridge.Double,
	tfbridge.Int8, tfbridge.Int16, tfbridge.Int32, tfbridge.Int64,
	tfbridge.Uint8, tfbridge.Uint16, tfbridge.Uint32, tfbridge.Uint64,
	tfbridge.Bool, tfbridge.String, tfbridge.Complex64, tfbridge.Complex128,
}

// loadable returns the dtype of a name if tensors can have it.
func loadable(name string) (tfbridge.DataType, bool) {
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

// otherNames are what other programs call dtypes.
var otherNames = map[string]string{
	"float": "float32", "double": "float64", "half": "float16", "int": "int64", "long": "int64",
	"uint": "uint64", "byte": "uint8", "boolean": "bool", "str": "string", "bytes": "string",
}

// dtypeHint proposes a dtype for a name that is none.
func dtypeHint(name string) string {
	if other, ok := otherNames[strings.ToLower(name)]; ok {
		return fmt.Sprintf("did you mean %q?", other)
	}
	if hint := diag.DidYouMean(name, loadableNames()); hint != "" {
		return hint
	}
	return "the dtypes are " + strings.Join(loadableNames(), ", ")
}

// stringBytes is the memory of a string in a tensor, without its text.
const stringBytes = 24

// ByteSize returns how many bytes n tensors of a shape take, unknown
// dimensions counted as 1. It is false if that is more than an int64 holds.
func ByteSize(d tfbridge.DataType, n int64, shape []int64) (int64, bool) {
	size := int64(d.Size())
	if d == tfbridge.String {
		size = stringBytes
	}
	total, empty := n, false
	for _, dim := range append([]int64{size}, shape...) {
		switch {
		case dim == 0:
			empty = true // but TensorFlow multiplies the others all the same
		case dim > 0 && total > (1<<62)/dim:
			return 0, false
		case dim > 0:
			total *= dim
		}
	}
	if empty {
		return 0, true
	}
	return total, true
}
