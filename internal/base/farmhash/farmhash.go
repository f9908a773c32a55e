// Package farmhash computes the checksum with which TensorFlow writes fingerprint.pb.
package farmhash

import (
	"encoding/binary"
	"math/bits"
)

// Constants of FarmHash: large primes with about half their bits set.
const (
	farmK0 = 0xc3a5c85c97cb3127
	farmK1 = 0xb492b66fbe98f273
	farmK2 = 0x9ae16a3b2f90404f
)

// Fingerprint64 is FarmHash's Fingerprint64, with which TensorFlow writes the
// checksums in fingerprint.pb.
func Fingerprint64(s []byte) uint64 {
	switch n := len(s); {
	case n <= 16:
		return farmTo16(s)
	case n <= 32:
		return farmTo32(s)
	case n <= 64:
		return farmTo64(s)
	}
	return farmLong(s)
}

func word(s []byte, i int) uint64        { return binary.LittleEndian.Uint64(s[i:]) }
func rotate(v uint64, right int) uint64  { return bits.RotateLeft64(v, -right) }
func shiftMix(v uint64) uint64           { return v ^ v>>47 }
func farmFinish(u, v, mul uint64) uint64 { return shiftMix((v^shiftMix((u^v)*mul))*mul) * mul }

// farmTo16 hashes up to 16 bytes.
func farmTo16(s []byte) uint64 {
	n := len(s)
	mul := farmK2 + uint64(n)*2
	switch {
	case n >= 8:
		a, b := word(s, 0)+farmK2, word(s, n-8)
		return farmFinish(rotate(b, 37)*mul+a, (rotate(a, 25)+b)*mul, mul)
	case n >= 4:
		a, b := binary.LittleEndian.Uint32(s), binary.LittleEndian.Uint32(s[n-4:])
		return farmFinish(uint64(n)+uint64(a)<<3, uint64(b), mul)
	case n > 0:
		y := uint32(s[0]) + uint32(s[n/2])<<8
		z := uint32(n) + uint32(s[n-1])<<2
		return shiftMix(uint64(y)*farmK2^uint64(z)*farmK0) * farmK2
	}
	return farmK2
}

// farmTo32 hashes 17 to 32 bytes.
func farmTo32(s []byte) uint64 {
	n := len(s)
	mul := farmK2 + uint64(n)*2
	a, b := word(s, 0)*farmK1, word(s, 8)
	c, d := word(s, n-8)*mul, word(s, n-16)*farmK2
	return farmFinish(rotate(a+b, 43)+rotate(c, 30)+d, a+rotate(b+farmK2, 18)+c, mul)
}

// farmTo64 hashes 33 to 64 bytes.
func farmTo64(s []byte) uint64 {
	n := len(s)
	mul := farmK2 + uint64(n)*2
	a, b := word(s, 0)*farmK2, word(s, 8)
	c, d := word(s, n-8)*mul, word(s, n-16)*farmK2
	y := rotate(a+b, 43) + rotate(c, 30) + d
	z := farmFinish(y, a+rotate(b+farmK2, 18)+c, mul)
	e, f := word(s, 16)*mul, word(s, 24)
	g, h := (y+word(s, n-32))*mul, (z+word(s, n-24))*mul
	return farmFinish(rotate(e+f, 43)+rotate(g, 30)+h, e+rotate(f+a, 18)+g, mul)
}

// farmState is what the loop over 64-byte blocks carries along.
type farmState struct{ x, y, z, v0, v1, w0, w1 uint64 }

// farmLong hashes more than 64 bytes.
func farmLong(s []byte) uint64 {
	seed := uint64(81) // not a constant: the product has to wrap around
	h := farmState{x: seed, y: seed*farmK1 + 113}
	h.z = shiftMix(h.y*farmK2+113) * farmK2
	h.x = h.x*farmK2 + word(s, 0)
	last := s[len(s)-64:]
	rest := uint64(len(s)-1) & 63
	for ; len(s) > 64; s = s[64:] {
		h.block(s, farmK1, 1)
	}
	mul := farmK1 + h.z&0xff<<1
	h.w0 += rest
	h.v0 += h.w0
	h.w0 += h.v0
	h.block(last, mul, 9)
	return farmFinish(farmFinish(h.v0, h.w0, mul)+shiftMix(h.y)*farmK0+h.z, farmFinish(h.v1, h.w1, mul)+h.x, mul)
}

// block mixes in the 64 bytes that s starts with.
func (h *farmState) block(s []byte, mul, times uint64) {
	h.x = rotate(h.x+h.y+h.v0+word(s, 8), 37) * mul
	h.y = rotate(h.y+h.v1+word(s, 48), 42) * mul
	h.x ^= h.w1 * times
	h.y += h.v0*times + word(s, 40)
	h.z = rotate(h.z+h.w0, 33) * mul
	h.v0, h.v1 = farmWeak(s, h.v1*mul, h.x+h.w0)
	h.w0, h.w1 = farmWeak(s[32:], h.z+h.w1, h.y+word(s, 16))
	h.z, h.x = h.x, h.z
}

// farmWeak mixes 32 bytes into two seeds.
func farmWeak(s []byte, a, b uint64) (uint64, uint64) {
	a += word(s, 0)
	b = rotate(b+a+word(s, 24), 21)
	c := a
	a += word(s, 8) + word(s, 16)
	b += rotate(a, 44)
	return a + word(s, 24), b + c
}
