package events

import "math"

// histogramBuckets is the number of buckets that tf.summary.histogram makes.
const histogramBuckets = 30

// Histogram counts values by ranges.
type Histogram struct {
	Buckets []Bucket // ascending, without gaps; empty if no value was finite
	NaNs    int64    // values that are not finite; they are in no bucket
}

// Bucket is a range with the number of values in it. A value on an inner edge
// belongs to the upper bucket, the highest value to the last one.
type Bucket struct {
	Left, Right float64
	Count       int64
}

// NewHistogram counts values in 30 buckets of equal width from the lowest to the
// highest value, as tf.summary.histogram does. Where all values are the same, the
// last bucket counts them.
func NewHistogram[T float32 | float64](values []T) *Histogram {
	h := &Histogram{}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if f := float64(v); finite(f) {
			low, high = min(low, f), max(high, f)
		} else {
			h.NaNs++
		}
	}
	if low > high {
		return h
	}
	h.Buckets = buckets(low, high)
	// Half of each number, because the difference of two need not be finite.
	half := (high/2 - low/2) / histogramBuckets
	for _, v := range values {
		if f := float64(v); finite(f) {
			h.Buckets[bucketOf(f/2-low/2, half)].Count++
		}
	}
	return h
}

// bucketOf returns the index of a value's bucket, given the distance of the value from
// the lowest one.
func bucketOf(distance, width float64) int {
	if width == 0 {
		return histogramBuckets - 1
	}
	return int(min(distance/width, histogramBuckets-1))
}

// buckets returns empty buckets from low to high. Both may be as far from 0 as
// numbers are: their difference need not be finite.
func buckets(low, high float64) []Bucket {
	edge := func(i int) float64 {
		share := float64(i) / histogramBuckets
		return low*(1-share) + high*share
	}
	all := make([]Bucket, histogramBuckets)
	for i := range all {
		all[i].Left, all[i].Right = edge(i), edge(i+1)
	}
	all[histogramBuckets-1].Right = high
	return all
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
