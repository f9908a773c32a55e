package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// checkFinite finds the first value of a feature that is NaN or infinite, or becomes so
// when it is cast to the feature's dtype.
func checkFinite(f *spec.Feature, list example.Feature) error {
	if f.Kind == spec.Raw {
		return checkFiniteBytes(f, list.Bytes)
	}
	for i, v := range list.Ints {
		if math.Abs(float64(v)) >= infiniteFrom(f.DType) {
			return infinite(f, i, strconv.FormatInt(v, 10))
		}
	}
	for i, v := range list.Floats {
		if x := float64(v); !(math.Abs(x) < infiniteFrom(f.DType)) { // true for NaN
			return infinite(f, i, strconv.FormatFloat(x, 'g', -1, 32))
		}
	}
	return nil
}

// infiniteFrom returns the least number that a cast to a dtype rounds to infinity.
func infiniteFrom(d tfbridge.DataType) float64 {
	s, ok := significands[d]
	if !ok || d == tfbridge.Float || d == tfbridge.Double {
		return math.Inf(1) // as stored
	}
	_, exponent := math.Frexp(s.max)
	return s.max + math.Ldexp(0.5, exponent-s.bits)
}

// infinite describes a value that is not finite.
func infinite(f *spec.Feature, i int, value string) error {
	return millrace.Errorf(millrace.ErrSchema, "value %d is %s, which is not finite as %s (check_finite)", i, value, f.DType)
}

// rawFloat says how the bytes of a dtype hold numbers of floating point.
type rawFloat struct {
	size     int    // bytes of a number
	exponent uint64 // the bits that are all set in NaN and infinity
}

var rawFloats = map[tfbridge.DataType]rawFloat{
	tfbridge.Half:       {2, 0x7c00},
	tfbridge.Bfloat16:   {2, 0x7f80},
	tfbridge.Float:      {4, 0x7f800000},
	tfbridge.Double:     {8, 0x7ff0000000000000},
	tfbridge.Complex64:  {4, 0x7f800000}, // two numbers each
	tfbridge.Complex128: {8, 0x7ff0000000000000},
}

// checkFiniteBytes is checkFinite for the bytes of raw tensors.
func checkFiniteBytes(f *spec.Feature, strings [][]byte) error {
	form := rawFloats[f.DType]
	for i, b := range strings {
		for at := 0; at+form.size <= len(b); at += form.size {
			if rawNumber(b[at:at+form.size], f.Endian == "big")&form.exponent != form.exponent {
				continue
			}
			return millrace.Errorf(millrace.ErrSchema, "%s is NaN or infinite (check_finite)", rawValue(f, len(strings), i, at))
		}
	}
	return nil
}

// rawValue names the value of a raw tensor that a byte begins.
func rawValue(f *spec.Feature, strings, i, at int) string {
	value := fmt.Sprintf("value %d", at/f.DType.Size())
	if strings > 1 {
		value += fmt.Sprintf(" of byte string %d", i)
	}
	return value
}

// rawNumber returns the bytes of a number as an integer.
func rawNumber(b []byte, bigEndian bool) uint64 {
	var all [8]byte
	if bigEndian {
		copy(all[8-len(b):], b)
		return binary.BigEndian.Uint64(all[:])
	}
	copy(all[:], b)
	return binary.LittleEndian.Uint64(all[:])
}
