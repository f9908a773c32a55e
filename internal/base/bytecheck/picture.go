package bytecheck

import (
	"math"
	"math/bits"
)

// picture has the values claimed by an image's header.
type picture struct {
	format        string
	width, height int64
	channels      int64
	frames        int64
	work          int64 // bytes of memory in addition to the tensor
	limit         int64 // a reader may stop counting there
}

// product multiplies numbers that are not negative. It returns the largest number on
// overflow.
func product(numbers ...int64) int64 {
	all := uint64(1)
	for _, n := range numbers {
		if n <= 0 {
			return 0
		}
		over, low := bits.Mul64(all, uint64(n))
		if over != 0 {
			low = math.MaxInt64
		}
		all = uint64(saturate(low))
	}
	return int64(all)
}

// saturate returns n, or the largest int64 if n is larger.
func saturate(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
