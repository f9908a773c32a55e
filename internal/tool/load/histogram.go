package load

import (
	"math/bits"
	"time"
)

// Histogram counts durations. Its buckets grow with the duration, so that a
// percentile is exact to 1.6%. The zero value is empty.
type Histogram struct {
	N      int64
	Max    time.Duration
	counts [64 * perOctave]int64
}

// perOctave is the number of buckets per power of two, and octaveBits its logarithm.
const octaveBits, perOctave = 6, 1 << octaveBits

// bucket returns the bucket of a number of nanoseconds.
func bucket(ns uint64) int {
	if ns < perOctave {
		return int(ns)
	}
	shift := bits.Len64(ns) - octaveBits - 1
	return shift*perOctave + int(ns>>shift)
}

// top returns the longest duration in a bucket.
func top(bucket int) time.Duration {
	if bucket < perOctave {
		return time.Duration(bucket)
	}
	shift := bucket/perOctave - 1
	return time.Duration((uint64(bucket-shift*perOctave)+1)<<shift - 1)
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	h.N++
	h.Max = max(h.Max, d)
	h.counts[bucket(uint64(max(d, 0)))]++
}

// Within returns how many durations were at most d, up to the width of a bucket.
func (h *Histogram) Within(d time.Duration) int64 {
	var n int64
	for i, count := range h.counts[:bucket(uint64(max(d, 0)))+1] {
		if top(i) <= d {
			n += count
		}
	}
	return n
}

// Percentile returns a duration that the given percentage of the durations do not
// exceed, 0 for an empty histogram.
func (h *Histogram) Percentile(percent float64) time.Duration {
	left := int64(percent / 100 * float64(h.N))
	for i, n := range h.counts {
		if left -= n; left < 0 {
			return min(top(i), h.Max)
		}
	}
	return h.Max
}
