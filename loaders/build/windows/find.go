package windows

import (
	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// found describes the windows in the available units.
type found struct {
	begins, ends tfbridge.Output // one number for each window
	count        tfbridge.Output // number of complete windows
	next         tfbridge.Output // first unit of the window after those
}

// find finds the windows from the given one on, which begins at start. At the end of
// the file the remainder is a window as well, if it is long enough.
func (c *cutter) find(s *graph.Scope, window, start, available, end tfbridge.Output) *found {
	if c.window.Min == c.window.Max {
		return c.findEqual(s, start, available, end)
	}
	n := c.candidates(s, start, available, end)
	begins, ends, after := c.place(s, start, n, c.sizes.sizes(s, window, n))
	complete := graph.Cast(s, graph.LessEqual(s, ends, available), tfbridge.Int64)
	count := graph.ReduceSum(s, graph.Cumprod(s, complete, 0))
	next := graph.GatherV2(s, after, count, 0)
	given := count
	if c.window.Tail != spec.TailDrop {
		given = graph.Add(s, count, c.lastWindow(s, next, available, end))
	}
	zero := s.Const(int64(0))
	if c.window.Tail != spec.TailPad {
		ends = graph.Minimum(s, ends, available)
	}
	return &found{
		begins: graph.Rows(s, begins, zero, given),
		ends:   graph.Rows(s, ends, zero, given),
		count:  count,
		next:   next,
	}
}

// lastWindow returns 1 if the remainder at the end is a window, else 0.
func (c *cutter) lastWindow(s *graph.Scope, next, available, end tfbridge.Output) tfbridge.Output {
	left := graph.GreaterEqual(s, graph.Sub(s, available, next), s.Const(c.window.Least()))
	return graph.Cast(s, graph.LogicalAnd(s, end, left), tfbridge.Int64)
}

// findEqual finds windows of one size.
func (c *cutter) findEqual(s *graph.Scope, start, available, end tfbridge.Output) *found {
	size, stride := c.window.Min, c.window.Stride
	if stride == 0 {
		stride = size
	}
	zero, one := s.Const(int64(0)), s.Const(int64(1))
	room := graph.Sub(s, graph.Sub(s, available, start), s.Const(size))
	count := graph.Maximum(s, graph.Add(s, graph.FloorDiv(s, room, s.Const(stride)), one), zero)
	next := graph.Add(s, start, graph.Mul(s, count, s.Const(stride)))
	given := count
	if c.window.Tail == spec.TailPad {
		given = graph.Add(s, count, c.lastWindow(s, next, available, end))
	}
	steps := graph.Mul(s, graph.Range(s, zero, given, one), s.Const(stride))
	begins := graph.Add(s, steps, start)
	return &found{
		begins: begins,
		ends:   graph.Add(s, begins, s.Const(size)),
		count:  count,
		next:   next,
	}
}

// candidates returns how many windows to draw sizes for: at the end one more than there
// can be, earlier about the likely number. Further windows are found with the next
// block.
func (c *cutter) candidates(s *graph.Scope, start, available, end tfbridge.Output) tfbridge.Output {
	w := c.window
	zero, one := s.Const(int64(0)), s.Const(int64(1))
	room := graph.Maximum(s, graph.Sub(s, available, start), zero)
	step := w.Stride
	if step == 0 {
		step = w.Min
	}
	most := graph.Add(s, graph.FloorDiv(s, room, s.Const(step)), one)
	if w.Stride > 0 {
		return most
	}
	// One and a half times the number of windows of average size: the sum of that many
	// sizes is almost always larger than the available space.
	average := s.Const(max((w.Min+w.Max)/3, 1))
	likely := graph.Add(s, graph.FloorDiv(s, room, average), s.Const(int64(8)))
	return graph.Select(s, end, most, graph.Minimum(s, most, likely))
}

// place lays out n windows of the given sizes. after has the position where each window
// would begin, and one more for the next window.
func (c *cutter) place(s *graph.Scope, start, n, sizes tfbridge.Output) (begins, ends, after tfbridge.Output) {
	zero, one := s.Const(int64(0)), s.Const(int64(1))
	if stride := c.window.Stride; stride > 0 {
		steps := graph.Range(s, zero, graph.Add(s, n, one), one)
		after = graph.Add(s, start, graph.Mul(s, steps, s.Const(stride)))
		begins = graph.Rows(s, after, zero, n)
		return begins, graph.Add(s, begins, sizes), after
	}
	ends = graph.Add(s, start, graph.Cumsum(s, sizes, 0))
	after = graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, start, 0), ends}, 0)
	return graph.Rows(s, after, zero, n), ends, after
}
