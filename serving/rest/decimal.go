package rest

import (
	"encoding/binary"
	"math"

	"millrace/tfbridge"
)

/*
How a number becomes a float in one pass

strconv.ParseFloat is exact for every text, and a body of floats spends most of its
time there: it goes through the digits twice, once to find their end and once to
read them. Nearly all numbers of requests are simple. If the digits, without point, are an
integer m of at most 2^53, and the power of ten is at most 22 in either direction, then m
and the power are floats of 64 bits exactly, and one multiplication or division rounds
once: the result is what ParseFloat returns.

	-0.0123e2    m = 123, power = 2-4 = -2    -(123 / 10^2)

A float of 32 bits would then be rounded a second time. That matters only if the float of
64 bits lies exactly between two of 32 bits, which its low 29 bits tell.

Clients that print floats of 64 bits send 17 digits, more than 2^53 holds. Up to 19 digits m fits
into 64 bits. Then m and the result are rounded, and the float of 64 bits is off by one or
two of its last bits. That suffices for 32 bits, unless it lies as near as that to the
middle between two of them.

What is left goes to ParseFloat.
*/

// powers are the powers of ten that a float of 64 bits holds exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// The digits of simple numbers, and the bits of a 64-bit float that a 32-bit float does
// not have.
const (
	mostDigits   = 19
	leftOut      = 1<<29 - 1
	half32       = 1 << 28 // the value of these bits in the middle between two 32-bit floats
	slack        = 4       // more than the error of inexact numbers
	mostExponent = 99
)

// parseDecimal returns the simple number at the start of text and its length. The
// length is 0 if there is no number, or one of another kind. If exact is true, the
// number is correctly rounded; else its last bits may be wrong.
func parseDecimal(text []byte) (v float64, length int, exact bool) {
	i, negative := 0, false
	if len(text) > 0 && text[0] == '-' {
		i, negative = 1, true
	}
	start := i
	mantissa, i := addDigits(0, text, i)
	count, power := i-start, 0
	if count == 0 || count > 1 && text[start] == '0' {
		return 0, 0, false
	}
	if i < len(text) && text[i] == '.' {
		start = i + 1
		mantissa, i = addDigits(mantissa, text, start)
		if power = start - i; power == 0 {
			return 0, 0, false
		}
		count -= power
	}
	if count > mostDigits {
		return 0, 0, false
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		exponent, n := parseExponent(text[i+1:])
		if n == 0 {
			return 0, 0, false
		}
		i += 1 + n
		power += exponent
	}
	if power < -22 || power > 22 || continues(text[i:]) {
		return 0, 0, false
	}
	if v = float64(mantissa); power < 0 {
		v /= powers[-power]
	} else {
		v *= powers[power]
	}
	if negative {
		v = -v
	}
	return v, i, mantissa <= 1<<53
}

// addDigits appends the digits that begin at i to a number, and returns where they end.
func addDigits(number uint64, text []byte, i int) (uint64, int) {
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		number = 10*number + uint64(text[i]-'0')
	}
	return number, i
}

// parseExponent returns the exponent at the start of text, after the e, and its length.
// The length is 0 if there is no exponent, or a large one.
func parseExponent(text []byte) (v, length int) {
	i, negative := 0, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		i, negative = 1, text[0] == '-'
	}
	start := i
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		if v = 10*v + int(text[i]-'0'); v > mostExponent {
			return 0, 0
		}
	}
	if i == start {
		return 0, 0
	}
	if negative {
		v = -v
	}
	return v, i
}

// decimal reads a simple number if the elements are floats. If there is none it returns
// false and does not move.
func (b *builder) decimal(s *scanner) bool {
	if b.dtype != tfbridge.Float && b.dtype != tfbridge.Double {
		return false
	}
	v, n, exact := parseDecimal(s.text[s.at:])
	middle := math.Float64bits(v)&leftOut - (half32 - slack)
	switch {
	case n == 0:
		return false
	case b.dtype == tfbridge.Double:
		if !exact {
			return false
		}
		b.raw = binary.NativeEndian.AppendUint64(b.raw, math.Float64bits(v))
	case middle <= 2*slack || math.Abs(v) > math.MaxFloat32:
		return false
	default:
		b.raw = binary.NativeEndian.AppendUint32(b.raw, math.Float32bits(float32(v)))
	}
	s.at += n
	return true
}

// decimals reads the simple numbers, each with its comma, that come next in a list; the
// elements are inside level lists. It returns their number. It leaves at least the last
// element to add.
func (b *builder) decimals(s *scanner, level int) (n int) {
	if b.rank >= 0 && b.rank != level {
		return 0
	}
	for {
		s.peek()
		start, size := s.at, len(b.raw)
		if !b.decimal(s) {
			return n
		}
		if s.at == len(s.text) || s.text[s.at] != ',' {
			s.at, b.raw = start, b.raw[:size]
			return n
		}
		s.at++
		b.rank = level
		n++
	}
}
