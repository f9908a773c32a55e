package processing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"millrace/diag"
	"millrace/dtype"
)

// Tensor is the dtype and shape of a tensor, as far as they are known before the data
// is read.
type Tensor struct {
	Name  string         `json:"name"`
	DType dtype.DataType `json:"dtype"`
	Shape []int64        `json:"shape"` // without the batch dimension; -1 = unknown
}

// loadableTypes are the dtypes that a pipeline's tensors can have: TensorFlow can cast
// to or decode them, and pad and batch them.
var loadableTypes = []dtype.DataType{
	dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double,
	dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64,
	dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64,
	dtype.Bool, dtype.String, dtype.Complex64, dtype.Complex128,
}

// Loadable returns the dtype of a name if tensors can have it.
func Loadable(name string) (dtype.DataType, bool) {
	for _, d := range loadableTypes {
		if d.String() == name {
			return d, true
		}
	}
	return 0, false
}

// LoadableNames returns the names of all dtypes that tensors can have.
func LoadableNames() []string {
	names := make([]string, len(loadableTypes))
	for i, d := range loadableTypes {
		names[i] = d.String()
	}
	return names
}

// DTypeHint proposes a dtype for a name that is not one.
func DTypeHint(name string) string {
	if other, ok := dtype.ParseOther(name); ok {
		return fmt.Sprintf("did you mean %q?", other)
	}
	if hint := diag.DidYouMean(name, LoadableNames()); hint != "" {
		return hint
	}
	return "the dtypes are " + strings.Join(LoadableNames(), ", ")
}

// FormatShape returns a shape in the form [-1, 3].
func FormatShape(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

// Dimensions returns "no dimensions", "1 dimension" or "n dimensions".
func Dimensions(n int) string {
	switch n {
	case 0:
		return "no dimensions"
	case 1:
		return "1 dimension"
	}
	return fmt.Sprintf("%d dimensions", n)
}

// The limits of tensors that steps make.
const (
	MaxDimension = 1 << 31
	MaxElements  = 1 << 31
)

// Elements returns the number of values of a shape, and false if a dimension is not known. It
// is the largest int64 where there are more.
func Elements(shape []int64) (n int64, known bool) {
	if slices.Contains(shape, -1) {
		return 0, false
	}
	n, err := dtype.Elements(shape)
	if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

// Int64s returns a copy of a list that is not nil, so that it is a constant even when it is
// empty.
func Int64s(list []int64) []int64 { return append(make([]int64, 0, len(list)), list...) }

// Broadcast returns the shape to which two shapes are broadcast, and false if they are not.
func Broadcast(x, y []int64) (shape []int64, ok bool) {
	if len(x) < len(y) {
		x, y = y, x
	}
	shape = slices.Clone(x)
	for i := range y {
		at := len(x) - len(y) + i
		switch n, m := x[at], y[i]; {
		case n == m || m == 1:
		case n == 1:
			shape[at] = m
		case n < 0 && m > 1:
			shape[at] = m
		case m < 0 && n > 1:
		case n < 0 || m < 0:
			shape[at] = -1
		default:
			return nil, false
		}
	}
	return shape, true
}

// DidYouMean proposes the nearest of the known names, or all names if there are only a
// few.
func DidYouMean(name string, known []string) string {
	slices.Sort(known)
	if hint := diag.DidYouMean(name, known); hint != "" || len(known) == 0 || len(known) > 8 {
		return hint
	}
	return "there are " + strings.Join(known, ", ")
}
