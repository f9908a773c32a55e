package dtype

import (
	"slices"
	"strconv"
	"strings"

	"millrace"
)

// Shape is the shape of a tensor as far as it is known: its dimensions may be
// unknown one by one (-1) or altogether. The zero value is an unknown shape.
type Shape struct {
	dims []int64 // nil: unknown; not nil for a scalar
}

// ScalarShape returns the shape of a scalar.
func ScalarShape() Shape { return Shape{dims: []int64{}} }

// MakeShape returns a shape with dimensions dims, -1 for an unknown one. The zero Shape
// is an unknown shape.
func MakeShape(dims ...int64) Shape {
	return Shape{dims: append([]int64{}, dims...)}
}

// NumDimensions returns the number of dimensions, -1 if it is unknown.
func (s Shape) NumDimensions() int {
	if s.dims == nil {
		return -1
	}
	return len(s.dims)
}

// Size returns dimension i, -1 if it is unknown or does not exist.
func (s Shape) Size(i int) int64 {
	if i < 0 || i >= len(s.dims) {
		return -1
	}
	return s.dims[i]
}

// IsFullySpecified reports whether every dimension is known.
func (s Shape) IsFullySpecified() bool {
	return s.dims != nil && !slices.ContainsFunc(s.dims, func(d int64) bool { return d < 0 })
}

// ToSlice returns the dimensions, -1 for unknown ones; it fails if their number is
// unknown.
func (s Shape) ToSlice() ([]int64, error) {
	if s.dims == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "cannot list the dimensions of an unknown shape")
	}
	return slices.Clone(s.dims), nil
}

// String returns the shape as Python prints it: "[2, ?]", or "?".
func (s Shape) String() string {
	if s.dims == nil {
		return "?"
	}
	words := make([]string, len(s.dims))
	for i, d := range s.dims {
		words[i] = "?"
		if d >= 0 {
			words[i] = strconv.FormatInt(d, 10)
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// IsCompatibleWith reports whether a tensor can have both shapes: no dimension that is
// known in both differs.
func (s Shape) IsCompatibleWith(other Shape) bool {
	if s.dims == nil || other.dims == nil {
		return true
	}
	return slices.EqualFunc(s.dims, other.dims, func(a, b int64) bool { return a < 0 || b < 0 || a == b })
}

// MostSpecificCompatible returns the most specific shape that covers both: a dimension
// in which they differ is unknown in the result.
func (s Shape) MostSpecificCompatible(other Shape) Shape {
	if s.dims == nil || other.dims == nil || len(s.dims) != len(other.dims) {
		return Shape{}
	}
	dims := s.Dims()
	for i, d := range other.dims {
		if dims[i] != d {
			dims[i] = -1
		}
	}
	return Shape{dims: dims}
}

// Accepts reports whether a tensor with dimensions dims, all of them known, can
// have shape s.
func (s Shape) Accepts(dims []int64) bool {
	if s.dims == nil {
		return true
	}
	return slices.EqualFunc(s.dims, dims, func(want, got int64) bool { return want < 0 || want == got })
}

// Equal reports whether two shapes have the same known and unknown dimensions.
func (s Shape) Equal(other Shape) bool {
	return (s.dims == nil) == (other.dims == nil) && slices.Equal(s.dims, other.dims)
}

// Dims returns a copy of the dimensions, -1 for unknown ones; it is nil if their number
// is unknown, and empty for a scalar.
func (s Shape) Dims() []int64 { return slices.Clone(s.dims) }

// Check fails for a shape that TensorFlow ends the process for: dimensions
// below -1, more than [MaxRank] of them, or known ones whose product does not
// fit in 63 bits.
func (s Shape) Check() error {
	for _, d := range s.dims {
		if d < -1 {
			return millrace.Errorf(millrace.ErrSchema, "shape %v has a dimension below -1", s.dims)
		}
	}
	if len(s.dims) > MaxRank {
		return errRank(len(s.dims))
	}
	_, err := Elements(slices.DeleteFunc(s.Dims(), func(d int64) bool { return d < 0 }))
	return err
}

// TensorSpec describes a tensor before it is computed: its name, data type and shape.
// It is a plain value; the zero TensorSpec has no data type and an unknown shape.
type TensorSpec struct {
	Name  string // name of the tensor; "" if it has none
	DType DataType
	Shape Shape
}

// String returns data type and shape without the name: "float32[2, ?]", and
// "float32[...]" if the number of dimensions is unknown.
func (t TensorSpec) String() string {
	if t.Shape.NumDimensions() < 0 {
		return t.DType.String() + "[...]"
	}
	return t.DType.String() + t.Shape.String()
}
