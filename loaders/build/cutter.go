package build

import (
	"millrace/graph"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// cutter cuts the windows of one file, block by block. What a block leaves
// over goes in front of the next one, so that no more is kept than a window
// and a block.
//
// Its state is the ordinal of the next window, its first unit and the number
// of units kept, then what is kept of the blocks' tensors. The next window may
// start beyond what is kept: a stride may be longer than a window.
type cutter struct {
	plan  *plan.Plan
	unit  unit
	sizes *draws
}

const (
	cutterCounts = 3 // int64 scalars before the tensors in the state
	blockCounts  = 2 // likewise in a block
	windowEnds   = 2 // vectors before the tensors in what is cut
)

// initial returns the state at the start of a file, from a block's specs.
func (c *cutter) initial(s *graph.Scope, block []graph.Spec) []tfbridge.Output {
	zero := s.Const(int64(0))
	state := []tfbridge.Output{zero, zero, zero}
	for _, p := range block[min(blockCounts, len(block)):] {
		dims, err := p.Shape.ToSlice()
		if err != nil {
			s.UpdateErr("windows", err)
			return nil
		}
		empty := s.Zeros(p.DType, append([]int64{0}, dims[1:]...)...)
		dims[0] = -1 // TensorFlow would take 0 for the length of every later state
		state = append(state, graph.PlaceholderWithDefault(s, empty, tfbridge.MakeShape(dims...)))
	}
	return state
}

// cut takes one block. It gives where in the kept units each complete window
// begins and ends, and the tensors to cut them from, with offsets in place of
// the lengths of lists.
func (c *cutter) cut(s *graph.Scope, state, block []tfbridge.Output) (next, windows []tfbridge.Output) {
	var tensors []tfbridge.Output
	for i, kept := range state[cutterCounts:] {
		tensors = append(tensors, graph.ConcatV2(s, []tfbridge.Output{kept, block[blockCounts+i]}, 0))
	}
	window, start, available := state[0], state[1], graph.Add(s, state[2], block[0])
	found := c.find(s, window, start, available, block[1])
	drop := graph.Minimum(s, found.next, available)
	next = []tfbridge.Output{
		graph.Add(s, window, found.count),
		graph.Sub(s, found.next, drop),
		graph.Sub(s, available, drop),
	}
	next = append(next, c.keep(s, tensors, drop)...)
	return next, append([]tfbridge.Output{found.begins, found.ends}, withOffsets(c.plan, s, tensors)...)
}

// keep returns the tensors without what belongs to the first units.
func (c *cutter) keep(s *graph.Scope, tensors []tfbridge.Output, units tfbridge.Output) []tfbridge.Output {
	cut := &windowTensors{c.plan, c.unit, withOffsets(c.plan, s, tensors)}
	var kept []tfbridge.Output
	for i, x := range tensors {
		from := units // of a list's lengths, one for each record
		if i < len(c.plan.Features) {
			from = cut.row(s, i, units)
		}
		kept = append(kept, graph.RowsFrom(s, x, from))
	}
	return kept
}

// windowTensors are a block's tensors as the cutter gives them: the joined
// values of every sorted feature, then the offsets of every list.
type windowTensors struct {
	plan    *plan.Plan
	unit    unit
	tensors []tfbridge.Output
}

// withOffsets replaces the lengths of lists by the offsets where records
// begin and end.
func withOffsets(p *plan.Plan, s *graph.Scope, tensors []tfbridge.Output) []tfbridge.Output {
	out := append([]tfbridge.Output{}, tensors...)
	for i := len(p.Features); i < len(out); i++ {
		out[i] = graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{0}), graph.Cumsum(s, out[i], 0)}, 0)
	}
	return out
}

// row returns where units of the windows, a scalar or a vector, begin in the
// values of the feature at a place among the sorted ones.
func (w *windowTensors) row(s *graph.Scope, place int, units tfbridge.Output) tfbridge.Output {
	return w.unit.row(s, w, place, units)
}
