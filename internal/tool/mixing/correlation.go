package mixing

import "math"

// moments are sums over pairs of numbers, for their correlation. They are updated by
// Welford's method, which does not lose digits for large numbers.
type moments struct {
	n, meanX, meanY float64
	xx, yy, xy      float64 // sums of products of deviations from the means
}

func (m *moments) add(x, y float64) {
	m.n++
	dx, dy := x-m.meanX, y-m.meanY
	m.meanX += dx / m.n
	m.meanY += dy / m.n
	m.xx += dx * (x - m.meanX)
	m.yy += dy * (y - m.meanY)
	m.xy += dx * (y - m.meanY)
}

// correlation returns Pearson's coefficient, and false if all numbers of one kind are
// the same.
func (m *moments) correlation() (float64, bool) {
	if m.xx == 0 || m.yy == 0 {
		return 0, false
	}
	return m.xy / math.Sqrt(m.xx*m.yy), true
}

// orderCorrelation returns the mean correlation between the positions of records in the
// order and in their file; see [Mixing].
func orderCorrelation(order, starts []int64) float64 {
	files := make([]moments, len(starts)-1)
	for i, number := range order {
		f := fileOf(starts, number)
		files[f].add(float64(i), float64(number-starts[f]))
	}
	sum, weight := 0.0, 0.0
	for i := range files {
		if c, ok := files[i].correlation(); ok {
			sum += c * files[i].n
			weight += files[i].n
		}
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}
