package estimator

import "time"

// clock adds up the time that steps take.
type clock struct {
	began  time.Duration // start of the current step, since epoch
	marked Progress      // since the last mark
	total  Progress      // since the start
}

// start starts the time of a step.
func (c *clock) start() { c.began = sinceEpoch() }

// stop ends it. The batch of the step arrived at a moment since epoch.
func (c *clock) stop(examples int64, arrived time.Duration) {
	now := sinceEpoch()
	for _, p := range []*Progress{&c.marked, &c.total} {
		p.Steps++
		p.Examples += examples
		p.Duration += now - c.began
		p.InputWait += min(max(0, arrived-c.began), now-c.began)
	}
}

// mark returns what was done since the last call.
func (c *clock) mark() Progress {
	p := c.marked
	c.marked = Progress{}
	return p
}
