package analyze

import "math"

// # Why sums are pairs
//
// The question: the mean of a billion values must not depend on the order in which they are
// added, or on how many goroutines add them; and the variance, the mean of squares less the square
// of the mean, must not be lost where the mean is large.
//
// The answer: a sum is a pair of float64. The second one holds what the first one lost to
// rounding. So it has about 106 bits. Two orders of the same values differ far below what a
// float64 shows, and sums are merged by adding them.

// sum is a sum of float64 with twice the precision.
type sum struct{ hi, lo float64 }

func (s *sum) add(x float64) {
	t := s.hi + x
	b := t - s.hi
	s.lo += (s.hi - (t - b)) + (x - b)
	s.hi = t
}

func (s *sum) merge(o sum) {
	s.add(o.hi)
	s.lo += o.lo
}

func (s sum) value() float64 { return s.hi + s.lo }

// moments are number, sum and sum of squares of values.
type moments struct {
	n           int64
	sum, square sum
	min, max    float64 // valid after one value
}

func (m *moments) add(x float64) {
	if m.n == 0 {
		m.min, m.max = x, x
	}
	m.n++
	if x < m.min {
		m.min = x
	}
	if x > m.max {
		m.max = x
	}
	m.sum.add(x)
	square := x * x
	m.square.add(square)
	m.square.lo += math.FMA(x, x, -square)
}

// addSame adds a whole number below 2^20 many times.
func (m *moments) addSame(x float64, times int64) {
	if times > 0 {
		n := float64(times)
		m.merge(moments{n: times, sum: sum{hi: x * n}, square: sum{hi: x * x * n}, min: x, max: x})
	}
}

func (m *moments) merge(o moments) {
	switch {
	case o.n == 0:
		return
	case m.n == 0:
		m.min, m.max = o.min, o.max
	}
	m.n += o.n
	m.min, m.max = min(m.min, o.min), max(m.max, o.max)
	m.sum.merge(o.sum)
	m.square.merge(o.square)
}

func (m moments) mean() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum.value() / float64(m.n)
}

// std returns the standard deviation of the values themselves, as NumPy and Keras compute it: it
// divides by their number, and not by one less.
func (m moments) std() float64 {
	if m.n == 0 || m.min == m.max {
		return 0
	}
	n, mean := float64(m.n), m.mean()
	// The square of the mean cancels most of the mean of squares, so it is subtracted in pairs.
	rest := m.square
	product := mean * m.sum.hi
	rest.add(-product)
	rest.lo -= math.FMA(mean, m.sum.hi, -product) + mean*m.sum.lo
	return math.Sqrt(max(rest.value()/n, 0))
}
