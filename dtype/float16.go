package dtype

import "math"

// Float16 is an IEEE half precision number's bits, the element of [Half].
type Float16 uint16

// BFloat16 is the upper half of a float32's bits, the element of [Bfloat16].
type BFloat16 uint16

// NewFloat16 returns the half precision number nearest to f, ties to even. Numbers that
// are too large become infinite. NaN stays NaN.
func NewFloat16(f float32) Float16 {
	bits := math.Float32bits(f)
	sign := Float16(bits >> 16 & 0x8000)
	switch magnitude := bits &^ (1 << 31); {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x47800000: // 65536 and above
		return sign | 0x7c00
	case magnitude < 0x38800000: // below the smallest normal number, 2^-14
		return sign | Float16(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24)))
	default:
		rounded := magnitude + 0xfff + magnitude>>13&1
		return sign | Float16(rounded>>13-(127-15)<<10)
	}
}

// Float32 returns the number, exactly.
func (h Float16) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	exponent, fraction := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0:
		f := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// NewBFloat16 returns the bfloat16 nearest to f, ties to even. NaN stays NaN.
func NewBFloat16(f float32) BFloat16 {
	bits := math.Float32bits(f)
	if f != f {
		return BFloat16(bits>>16 | 0x40)
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 returns the number, exactly.
func (b BFloat16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }
