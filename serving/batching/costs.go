package batching

import (
	"math"
	"sort"
	"time"
)

/*
How large a batch should be

A dense layer computes 32 rows in little more time than one, because it reads its weights
once. A convolution takes 32 times as long: its batch gives nothing, makes its first request
wait for the last, and leaves processors idle while one thread runs what four could share.
So the size is measured, and not set.

What a batch costs is its share of the machine. While n batches run, each second counts for
1/n of a second of each: two batches that run beside each other on two processors cost half
as much as they take. (Measured by its own time alone, a batch of 8 on one processor would
look as good as two of 4 on two.)

	cost of a row   size 1   2    4    8    16       smallest size within 5% of the least
	dense              50   27   16   10     7       16 and more
	convolutions      100  101  103  110   118       1

A size counts when it was measured minSamples times under pressure, that is while more than
one row waited. Until then each second batch tries a size that is less known, and later
each 64th a neighbour of the usual one, for what is true of a busy machine may not be true
later. A request is never cut for this: one that is larger than the size runs whole.
*/

// Rules of measuring. A larger size must save at least worthIt of the cost to be worth
// waiting for.
const (
	minSamples   = 3
	worthIt      = 0.05
	smoothing    = 0.25 // weight of a new measurement
	tryLaterOnly = 64
)

// costs are the costs of rows in batches of some sizes. The scheduler's lock guards
// them.
type costs struct {
	greedy  bool
	sizes   []int64 // increasing; the last is the largest batch
	perRow  []float64
	samples []int
	chosen  int // batches whose size was chosen

	row     float64 // cost of a row in the last batches, whatever their size
	batches int     // measured for row
}

// newCosts returns costs without measurements.
func newCosts(o *Options) *costs {
	c := &costs{greedy: o.Greedy}
	most := int64(o.MaxExecutionBatchSize)
	for size := int64(1); size < most && len(o.AllowedBatchSizes) == 0; size *= 2 {
		c.sizes = append(c.sizes, size)
	}
	for _, size := range o.AllowedBatchSizes {
		c.sizes = append(c.sizes, int64(size))
	}
	if len(o.AllowedBatchSizes) == 0 {
		c.sizes = append(c.sizes, most)
	}
	c.perRow, c.samples = make([]float64, len(c.sizes)), make([]int, len(c.sizes))
	return c
}

// index returns the index of the smallest size with room for the rows.
func (c *costs) index(rows int64) int {
	return min(sort.Search(len(c.sizes), func(i int) bool { return c.sizes[i] >= rows }), len(c.sizes)-1)
}

// best returns the index of the smallest size that costs about as little as any, of those that
// are known. Sizes become known in their order: first is the first one that is not, or -1 if a
// size was not worth it, so that no larger one is tried.
func (c *costs) best() (best, first int) {
	least, known := math.Inf(1), 0
	for known < len(c.sizes) && c.samples[known] >= minSamples {
		least = min(least, c.perRow[known])
		known++
	}
	for best < known && c.perRow[best] > least*(1+worthIt) {
		best++
	}
	if known == len(c.sizes) || known > 0 && best < known-1 {
		return best, -1
	}
	return max(known-1, 0), known
}

// usual returns the number of rows with which a batch does not wait for more.
func (c *costs) usual() int64 {
	best, first := c.best()
	if c.greedy || first >= 0 {
		return math.MaxInt64
	}
	return c.sizes[best]
}

// choose returns the number of rows of the next batch while some rows wait, and whether
// there was a choice.
func (c *costs) choose(waiting int64) (rows int64, pressed bool) {
	top := c.index(waiting)
	if c.greedy || top == 0 {
		return c.sizes[len(c.sizes)-1], false
	}
	c.chosen++
	best, first := c.best()
	switch {
	case first >= 0:
		best = first
	case c.chosen%tryLaterOnly == 0:
		best += 1 - 2*(c.chosen/tryLaterOnly%2)
	}
	return c.sizes[min(max(best, 0), top)], true
}

// record records the cost of a batch.
func (c *costs) record(b *batch, cost time.Duration) {
	if b.err != nil || b.rows == 0 || cost <= 0 {
		return
	}
	c.recordRow(float64(cost) / float64(b.rows))
	if !b.pressed || b.apart || b.size == 0 {
		return
	}
	i := c.index(b.size)
	perRow := float64(cost) / float64(b.size)
	if c.samples[i]++; c.samples[i] == 1 {
		c.perRow[i] = perRow
	} else {
		c.perRow[i] += smoothing * (perRow - c.perRow[i])
	}
}

// machineShare counts time by the batches that share the machine: while n run, it advances at
// 1/n of the clock's speed. The scheduler's lock guards it.
type machineShare struct {
	running int
	at      time.Time
	total   time.Duration
}

// advance brings the total up to a time.
func (m *machineShare) advance(now time.Time) {
	if passed := now.Sub(m.at); m.running > 0 && passed > 0 {
		m.total += passed / time.Duration(m.running)
	}
	if now.After(m.at) {
		m.at = now
	}
}

// begin records that a batch begins, and returns the total.
func (m *machineShare) begin(now time.Time) time.Duration {
	m.advance(now)
	m.running++
	return m.total
}

// end records that a batch has ended, and returns the total.
func (m *machineShare) end(now time.Time) time.Duration {
	m.advance(now)
	m.running--
	return m.total
}

// recordRow records the cost of the rows of a batch.
func (c *costs) recordRow(cost float64) {
	if c.batches++; c.batches == 1 {
		c.row = cost
		return
	}
	c.row += smoothing * (cost - c.row)
}
