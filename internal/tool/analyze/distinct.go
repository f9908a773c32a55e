package analyze

import (
	"math"
	"math/bits"
)

// distinct counts distinct values: exactly up to mostExact of them, and then by HyperLogLog, which
// is wrong by 0.8% (one standard deviation).
type distinct struct {
	exact    map[uint64]struct{}
	counting []uint8 // nil while exact is kept
}

const (
	mostExact   = 4096
	distinctLog = 14
)

// add adds the hash or the bits of a value.
func (d *distinct) add(value uint64) {
	if d.counting == nil {
		if d.exact == nil {
			d.exact = map[uint64]struct{}{}
		}
		if _, known := d.exact[value]; known {
			return
		}
		if len(d.exact) < mostExact {
			d.exact[value] = struct{}{}
			return
		}
		d.estimate()
	}
	d.count(value)
}

// estimate begins to estimate.
func (d *distinct) estimate() {
	d.counting = make([]uint8, 1<<distinctLog)
	for known := range d.exact {
		d.count(known)
	}
	d.exact = nil
}

func (d *distinct) count(value uint64) {
	h := mix(value)
	rank := uint8(bits.LeadingZeros64(h<<distinctLog|1<<(distinctLog-1)) + 1)
	if at := &d.counting[h>>(64-distinctLog)]; rank > *at {
		*at = rank
	}
}

func (d *distinct) merge(o *distinct) {
	if o.counting == nil {
		for value := range o.exact {
			d.add(value)
		}
		return
	}
	if d.counting == nil {
		d.estimate()
	}
	for i, rank := range o.counting {
		d.counting[i] = max(d.counting[i], rank)
	}
}

// value returns the number, and whether it is exact.
func (d *distinct) value() (n int64, exact bool) {
	if d.counting == nil {
		return int64(len(d.exact)), true
	}
	m, empty, inverse := float64(len(d.counting)), 0.0, 0.0
	for _, rank := range d.counting {
		inverse += math.Ldexp(1, -int(rank))
		if rank == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / inverse
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/empty)
	}
	return int64(math.Round(estimate)), false
}

// mix is splitmix64's finaliser.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
