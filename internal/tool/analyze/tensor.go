package analyze

import (
	"math"
	"strconv"

	"millrace/dtype"
	"millrace/tfbridge"
)

// Tensor are the statistics of a tensor. Its JSON keys stay as they are; normalize reads mean and
// std.
type Tensor struct {
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"` // shape in an example; -1 = it differs

	Examples int64 `json:"examples"`
	Empty    int64 `json:"empty"`  // examples without a value
	Values   int64 `json:"values"` // number of values in all examples

	// Mean and Std have a number for each position of the last axis if its size is known and at
	// most 4,096, and else one for all values. NaN and infinities are not in them.
	Mean []float64 `json:"mean,omitempty"`
	Std  []float64 `json:"std,omitempty"`

	All       *Numbers `json:"all,omitempty"`       // statistics of all values
	Lengths   *Numbers `json:"lengths,omitempty"`   // values of an example, where that differs
	Bytes     *Numbers `json:"bytes,omitempty"`     // sizes of strings
	Frequent  []Word   `json:"frequent,omitempty"`  // the most frequent strings
	Distinct  int64    `json:"distinct"`            // different values
	Estimated bool     `json:"estimated,omitempty"` // distinct is an estimate, wrong by a percent or so

	// Undercounted is by how much the counts of words may be too small, because there were more
	// than fit in memory.
	Undercounted int64 `json:"undercounted,omitempty"`

	words []Word // all of them, the most frequent ones first
}

// Numbers are statistics of numbers.
type Numbers struct {
	Min, Max  float64            `json:"-"`
	Mean      float64            `json:"mean"`
	Std       float64            `json:"std"`
	Least     *float64           `json:"min,omitempty"`
	Most      *float64           `json:"max,omitempty"`
	Quantiles map[string]float64 `json:"quantiles,omitempty"` // keys are the parts of the values that are not larger
	Histogram []float64          `json:"histogram,omitempty"` // parts of the values in 32 equal ranges from min to max
	Zeros     int64              `json:"zeros"`
	NaN       int64              `json:"nan,omitempty"`
	Infinite  int64              `json:"infinite,omitempty"`
}

// mostPositions is the longest last axis whose positions have means apart.
const mostPositions = 4096

// parts are the quantiles that are written.
var parts = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99}

// numbers collects statistics of numbers.
type numbers struct {
	moments
	sketch                  sketch
	zeros, notANumber, huge int64
}

// take adds a value.
func (n *numbers) take(x float64) {
	if finite := n.classify([]float64{x}); len(finite) > 0 {
		n.add(x)
		n.sketch.addAll(finite)
	}
}

// takeSame adds a value many times. It is a whole number below 2^20.
func (n *numbers) takeSame(x float64, times int64) {
	if x == 0 {
		n.zeros += times
	}
	n.addSame(x, times)
	for range times {
		n.sketch.add(x)
	}
}

// classify counts zeros, and values that are not finite, and returns the finite ones. It moves
// them within the list where some are not.
func (n *numbers) classify(list []float64) []float64 {
	zeros, finite := 0, 0
	for _, x := range list {
		if x == 0 {
			zeros++
		}
		if x-x == 0 {
			finite++
		}
	}
	n.zeros += int64(zeros)
	if finite == len(list) {
		return list
	}
	kept := list[:0]
	for _, x := range list {
		switch {
		case x != x:
			n.notANumber++
		case math.IsInf(x, 0):
			n.huge++
		default:
			kept = append(kept, x)
		}
	}
	return kept
}

func (n *numbers) join(o *numbers) {
	n.moments.merge(o.moments)
	n.sketch.merge(&o.sketch)
	n.zeros, n.notANumber, n.huge = n.zeros+o.zeros, n.notANumber+o.notANumber, n.huge+o.huge
}

// result returns the statistics, nil for no values.
func (n *numbers) result() *Numbers {
	if n.n+n.notANumber+n.huge == 0 {
		return nil
	}
	r := &Numbers{Mean: n.mean(), Std: n.std(), Zeros: n.zeros, NaN: n.notANumber, Infinite: n.huge}
	if n.n > 0 {
		r.Min, r.Max, r.Least, r.Most = n.min, n.max, &n.min, &n.max
		r.Quantiles = map[string]float64{}
		for i, x := range n.sketch.quantiles(parts) {
			r.Quantiles[strconv.FormatFloat(parts[i], 'g', -1, 64)] = x
		}
		r.Histogram = n.sketch.histogram(n.min, n.max)
	}
	return r
}

// collector collects statistics of one tensor. One goroutine at a time uses it; words may be
// shared.
type collector struct {
	known
	positions       []moments // one for each position of the last axis; nil where they are not apart
	all             numbers
	lengths         numbers
	bytes           numbers
	distinct        distinct
	words           *words
	examples, empty int64
	row             []float64 // the values of an example
}

// known is what is known of a tensor before the data are read.
type known struct {
	name  string
	dtype dtype.DataType
	shape []int64 // shape in an example
	count string  // the tensor with the number of values of each example; "": it follows from the shape
}

func newCollector(s known, w *words) *collector {
	c := &collector{known: s, words: w}
	if n := len(s.shape); n > 0 && s.shape[n-1] > 0 && s.shape[n-1] <= mostPositions && s.dtype != dtype.String {
		c.positions = make([]moments, s.shape[n-1])
	}
	return c
}

// take adds the examples of a batch. counts has the number of values of each, nil for all of them.
func (c *collector) take(t *tfbridge.Tensor, rows int64, counts []int64) error {
	shape := t.Shape()
	each := int64(1)
	for _, n := range shape[1:] {
		each *= n
	}
	c.examples += rows
	if counts == nil {
		if each == 0 {
			c.empty += rows
		}
		c.lengths.takeSame(float64(each), rows)
	}
	for _, n := range counts {
		if n == 0 {
			c.empty++
		}
		c.lengths.take(float64(n))
	}
	used := func(row int64) (from, to int64) {
		if counts == nil {
			return row * each, (row + 1) * each
		}
		return row * each, row*each + counts[row]
	}
	switch t.DataType() {
	case dtype.String:
		return c.takeStrings(t, rows, used)
	case dtype.Bool:
		return takeValues(c, t, rows, used, func(x bool) float64 {
			if x {
				return 1
			}
			return 0
		})
	case dtype.Float:
		return takeValues(c, t, rows, used, func(x float32) float64 { return float64(x) })
	case dtype.Double:
		return takeValues(c, t, rows, used, func(x float64) float64 { return x })
	case dtype.Int8:
		return takeValues(c, t, rows, used, func(x int8) float64 { return float64(x) })
	case dtype.Int16:
		return takeValues(c, t, rows, used, func(x int16) float64 { return float64(x) })
	case dtype.Int32:
		return takeValues(c, t, rows, used, func(x int32) float64 { return float64(x) })
	case dtype.Int64:
		return takeValues(c, t, rows, used, func(x int64) float64 { return float64(x) })
	case dtype.Uint8:
		return takeValues(c, t, rows, used, func(x uint8) float64 { return float64(x) })
	case dtype.Uint16:
		return takeValues(c, t, rows, used, func(x uint16) float64 { return float64(x) })
	case dtype.Uint32:
		return takeValues(c, t, rows, used, func(x uint32) float64 { return float64(x) })
	case dtype.Uint64:
		return takeValues(c, t, rows, used, func(x uint64) float64 { return float64(x) })
	}
	return nil // float16, bfloat16 and complex numbers: their lengths alone
}

// takeValues adds numbers.
func takeValues[T any](c *collector, t *tfbridge.Tensor, rows int64, used func(row int64) (int64, int64), number func(T) float64) error {
	values, err := tfbridge.View[T](t)
	if err != nil {
		return err
	}
	for row := range rows {
		from, to := used(row)
		c.row = c.row[:0]
		for _, v := range values[from:to] {
			c.row = append(c.row, number(v))
		}
		c.takeRow()
	}
	return nil
}

// takeRow adds the numbers in c.row, an example.
//
// Each value goes through four counts. Each count is a separate loop, because the processor then has
// several values on the way at once: the sum of one value waits for the sum before it. Where each
// position has a sum, [collector.settle] makes the sum of all from these.
func (c *collector) takeRow() {
	zeros, infinite := int64(0), 0
	for _, x := range c.row {
		bits := math.Float64bits(x)
		if bits<<1 == 0 {
			zeros++
		}
		if bits>>52&0x7ff == 0x7ff { // NaN or infinite
			infinite++
		}
		if c.distinct.counting != nil {
			c.distinct.count(bits)
		} else {
			c.distinct.add(bits)
		}
	}
	finite := c.row
	for at := 0; c.positions != nil && at < len(c.row); at += len(c.positions) {
		for i, x := range c.row[at:min(at+len(c.positions), len(c.row))] {
			if infinite == 0 || x-x == 0 {
				c.positions[i].add(x)
			}
		}
	}
	if infinite == 0 {
		c.all.zeros += zeros
	} else {
		finite = c.all.classify(c.row)
	}
	if c.positions == nil {
		for _, x := range finite {
			c.all.add(x)
		}
	}
	c.all.sketch.addAll(finite)
}

// settle adds the moments of all positions to the moments of all values. It is called once, after
// the last value.
func (c *collector) settle() {
	for _, m := range c.positions {
		c.all.moments.merge(m)
	}
}

// takeStrings adds strings.
func (c *collector) takeStrings(t *tfbridge.Tensor, rows int64, used func(row int64) (int64, int64)) error {
	values, err := t.Strings()
	if err != nil {
		return err
	}
	for row := range rows {
		from, to := used(row)
		for _, text := range values[from:to] {
			c.bytes.take(float64(len(text)))
			c.words.add(text)
		}
	}
	return nil
}

// join adds what another collector has collected of the same tensor.
func (c *collector) join(o *collector) {
	c.examples, c.empty = c.examples+o.examples, c.empty+o.empty
	c.all.join(&o.all)
	c.lengths.join(&o.lengths)
	c.bytes.join(&o.bytes)
	c.distinct.merge(&o.distinct)
	for i := range c.positions {
		c.positions[i].merge(o.positions[i])
	}
}

// mostFrequent is how many words a file of statistics names.
const mostFrequent = 20

// result returns the statistics.
func (c *collector) result() *Tensor {
	r := &Tensor{
		DType: c.dtype.String(), Shape: append([]int64{}, c.shape...), Examples: c.examples, Empty: c.empty,
		All: c.all.result(), Bytes: c.bytes.result(),
	}
	r.Values = int64(math.Round(c.lengths.sum.value()))
	if c.lengths.min != c.lengths.max {
		r.Lengths = c.lengths.result()
	}
	if c.dtype == dtype.String {
		r.words, r.Undercounted = c.words.sorted()
		r.Distinct, r.Frequent = int64(len(r.words)), r.words[:min(len(r.words), mostFrequent)]
		r.Estimated = r.Undercounted > 0
		return r
	}
	n, exact := c.distinct.value()
	r.Distinct, r.Estimated = n, !exact
	if c.all.n == 0 {
		return r
	}
	if c.positions == nil {
		r.Mean, r.Std = []float64{c.all.mean()}, []float64{c.all.std()}
	}
	for _, m := range c.positions {
		r.Mean, r.Std = append(r.Mean, m.mean()), append(r.Std, m.std())
	}
	return r
}
