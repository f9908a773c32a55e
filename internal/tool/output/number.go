package output

import (
	"encoding/binary"
	"math"
	"strconv"

	"millrace/dtype"
)

// half widens the bits of a float16.
func half(bits uint16) float32 { return dtype.Float16(bits).Float32() }

// bfloat widens the bits of a bfloat16.
func bfloat(bits uint16) float32 { return dtype.BFloat16(bits).Float32() }

// appendFloat appends a JSON number, or the string "NaN", "Infinity" or
// "-Infinity". bits is 32 or 64, the precision that v came from; the decimal
// is the shortest that reads back as v.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, bits)
}

// appendNarrow appends a float16 or bfloat16 as the shortest decimal that reads back as
// the same bits; widen converts the bits to a float.
func appendNarrow(b []byte, bits uint16, widen func(uint16) float32) []byte {
	v := float64(widen(bits))
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return appendFloat(b, v, 32)
	}
	// A decimal reads back as v if it lies between the midpoints to v's
	// neighbours, which are exact in float64. Past the largest finite value
	// the step is that of the last one.
	abs, mag := math.Abs(v), bits&0x7fff
	below := float64(widen(mag - 1))
	above := float64(widen(mag + 1))
	if math.IsInf(above, 1) {
		above = abs + (abs - below)
	}
	low, high := (below+abs)/2, (above+abs)/2
	for digits := 1; digits <= 5; digits++ {
		start := len(b)
		b = strconv.AppendFloat(b, v, 'e', digits-1, 64)
		short, err := strconv.ParseFloat(string(b[start:]), 64)
		b = b[:start]
		if abs := math.Abs(short); err == nil && abs > low && abs < high {
			return appendFloat(b, short, 64)
		}
	}
	return appendFloat(b, v, 32)
}

// appendNumber appends the JSON form of the first element in data.
func appendNumber(b, data []byte, d dtype.DataType) []byte {
	le := binary.LittleEndian
	switch d {
	case dtype.Bool:
		return strconv.AppendBool(b, data[0] != 0)
	case dtype.Int8:
		return strconv.AppendInt(b, int64(int8(data[0])), 10)
	case dtype.Int16:
		return strconv.AppendInt(b, int64(int16(le.Uint16(data))), 10)
	case dtype.Int32:
		return strconv.AppendInt(b, int64(int32(le.Uint32(data))), 10)
	case dtype.Int64:
		return strconv.AppendInt(b, int64(le.Uint64(data)), 10)
	case dtype.Uint8:
		return strconv.AppendUint(b, uint64(data[0]), 10)
	case dtype.Uint16:
		return strconv.AppendUint(b, uint64(le.Uint16(data)), 10)
	case dtype.Uint32:
		return strconv.AppendUint(b, uint64(le.Uint32(data)), 10)
	case dtype.Uint64:
		return strconv.AppendUint(b, le.Uint64(data), 10)
	}
	return appendReal(b, data, d)
}

// appendReal appends the JSON form of the first floating-point or complex
// element in data.
func appendReal(b, data []byte, d dtype.DataType) []byte {
	le := binary.LittleEndian
	switch d {
	case dtype.Half:
		return appendNarrow(b, le.Uint16(data), half)
	case dtype.Bfloat16:
		return appendNarrow(b, le.Uint16(data), bfloat)
	case dtype.Float:
		return appendFloat(b, float64(math.Float32frombits(le.Uint32(data))), 32)
	case dtype.Double:
		return appendFloat(b, math.Float64frombits(le.Uint64(data)), 64)
	}
	part := dtype.Float
	if d == dtype.Complex128 {
		part = dtype.Double
	}
	b = appendReal(append(b, '['), data, part)
	b = appendReal(append(b, ','), data[part.Size():], part)
	return append(b, ']')
}
