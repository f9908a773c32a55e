package tfbridge

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"millrace"
)

// maxRank is the most dimensions TensorFlow allows; it ends the process above.
const maxRank = 254

// Shape is the shape of a tensor as far as it is known: its dimensions may be
// unknown one by one (-1) or altogether. The zero value is an unknown shape.
type Shape struct {
	dims []int64 // nil: nothing is known; not nil for a scalar
}

// ScalarShape returns the shape of a scalar.
func ScalarShape() Shape { return Shape{dims: []int64{}} }

// MakeShape returns a shape with dimensions dims, -1 for an unknown one. The
// shape of which nothing is known is the zero Shape.
func MakeShape(dims ...int64) Shape {
	return Shape{dims: append([]int64{}, dims...)}
}

// NumDimensions returns the number of dimensions, -1 if it is not known.
func (s Shape) NumDimensions() int {
	if s.dims == nil {
		return -1
	}
	return len(s.dims)
}

// Size returns dimension i, -1 if it is not known or there is none such.
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

// ToSlice returns the dimensions, -1 for unknown ones; it fails if not even
// their number is known.
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

// compatible reports whether a tensor of shape dims can have shape s.
func (s Shape) compatible(dims []int64) bool {
	if s.dims == nil {
		return true
	}
	return slices.EqualFunc(s.dims, dims, func(want, got int64) bool { return want < 0 || want == got })
}

// check refuses what TensorFlow would end the process for: dimensions below
// -1, too many of them, and a product that overflows.
func (s Shape) check() error {
	for _, d := range s.dims {
		if d < -1 {
			return millrace.Errorf(millrace.ErrSchema, "shape %v has a dimension below -1", s.dims)
		}
	}
	known := slices.DeleteFunc(slices.Clone(s.dims), func(d int64) bool { return d < 0 })
	if len(s.dims) > maxRank {
		return millrace.Errorf(millrace.ErrLimit, "shape has %d dimensions, TensorFlow allows %d", len(s.dims), maxRank)
	}
	_, err := elements(known)
	return err
}

// elements returns how many elements a tensor of shape dims has. A product
// that overflows is an error even when a later dimension is 0: TensorFlow ends
// the process for it.
func elements(dims []int64) (int64, error) {
	if len(dims) > maxRank {
		return 0, millrace.Errorf(millrace.ErrLimit, "shape has %d dimensions, TensorFlow allows %d", len(dims), maxRank)
	}
	n, zero := int64(1), false
	for _, d := range dims {
		switch {
		case d < 0:
			return 0, millrace.Errorf(millrace.ErrSchema, "shape %v has a negative dimension", dims)
		case d == 0:
			zero = true
		case n > math.MaxInt64/d:
			return 0, millrace.Errorf(millrace.ErrLimit, "shape %v has more elements than fit in 63 bits", dims)
		default:
			n *= d
		}
	}
	if zero {
		n = 0
	}
	return n, nil
}

// byteSize returns the elements and bytes of a tensor, 24 bytes a string.
func byteSize(dt DataType, dims []int64) (n, bytes int64, err error) {
	if n, err = elements(dims); err != nil {
		return 0, 0, err
	}
	size := int64(max(dt.Size(), 1))
	if dt == String {
		size = stringSize
	}
	if n > math.MaxInt64/size {
		return 0, 0, millrace.Errorf(millrace.ErrLimit, "shape %v of %v has more bytes than fit in 63 bits", dims, dt)
	}
	return n, n * size, nil
}
