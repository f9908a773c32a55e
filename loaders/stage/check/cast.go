package check

import (
	"math"
	"strconv"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// intRange is the range of an integer dtype. Its upper bound is excluded, because only that
// bound is exact as a float64.
type intRange struct {
	min float64
	max float64 // excluded
}

var intRanges = map[tfbridge.DataType]intRange{
	tfbridge.Int8:   {-1 << 7, 1 << 7},
	tfbridge.Int16:  {-1 << 15, 1 << 15},
	tfbridge.Int32:  {-1 << 31, 1 << 31},
	tfbridge.Int64:  {-1 << 63, 1 << 63},
	tfbridge.Uint8:  {0, 1 << 8},
	tfbridge.Uint16: {0, 1 << 16},
	tfbridge.Uint32: {0, 1 << 32},
	tfbridge.Uint64: {0, 1 << 64},
	tfbridge.Bool:   {0, 2},
}

// significand is the number of significant bits of a floating-point dtype and
// its largest finite value.
type significand struct {
	bits int
	max  float64
}

var significands = map[tfbridge.DataType]significand{
	tfbridge.Half:     {11, 65504},
	tfbridge.Bfloat16: {8, 0x1.FEp127},
	tfbridge.Float:    {24, math.MaxFloat32},
	tfbridge.Double:   {53, math.MaxFloat64},
}

// checkValues finds the first value that a cast would change. The graph contains the same
// check as an assertion.
func checkValues(f *spec.Feature, list example.Feature) error {
	for _, v := range list.Ints {
		if !holdsInt(f.DType, v) {
			return castFault(f, strconv.FormatInt(v, 10))
		}
	}
	for _, v := range list.Floats {
		if !holdsFloat(f.DType, v) {
			return castFault(f, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
	}
	return nil
}

// castFault describes a value that a checked cast would lose.
func castFault(f *spec.Feature, value string) error {
	return millrace.Errorf(millrace.ErrSchema, "the value %s does not fit %s (checked_cast)", value, f.DType)
}

func holdsInt(d tfbridge.DataType, v int64) bool {
	if d == tfbridge.Uint64 {
		return v >= 0
	}
	if d == tfbridge.Int64 {
		return true
	}
	if r, ok := intRanges[d]; ok {
		return float64(v) >= r.min && float64(v) < r.max
	}
	s, ok := significands[d]
	return !ok || significantBits(v) <= s.bits && math.Abs(float64(v)) <= s.max
}

// significantBits counts the bits between the highest and the lowest one that
// is set.
func significantBits(v int64) int {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	n := 0
	for u != 0 && u&1 == 0 {
		u >>= 1
	}
	for ; u != 0; u >>= 1 {
		n++
	}
	return n
}

func holdsFloat(d tfbridge.DataType, v float32) bool {
	x := float64(v)
	if r, ok := intRanges[d]; ok {
		return x == math.Trunc(x) && x >= r.min && x < r.max // false for NaN
	}
	switch d {
	case tfbridge.Half:
		return math.IsNaN(x) || math.IsInf(x, 0) || halfHolds(x)
	case tfbridge.Bfloat16:
		return math.IsNaN(x) || math.Float32bits(v)&0xFFFF == 0
	}
	return true
}

// halfHolds reports whether float16 represents a finite value exactly: the value is a
// multiple of the spacing at its exponent, down to the subnormal spacing.
func halfHolds(x float64) bool {
	if x == 0 {
		return true
	}
	_, exp := math.Frexp(x) // x = f * 2^exp, 0.5 <= |f| < 1
	spacing := math.Ldexp(1, max(exp-11, -24))
	return math.Abs(x) <= 65504 && math.Mod(x, spacing) == 0
}
