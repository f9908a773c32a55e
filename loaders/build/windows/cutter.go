package windows

import (
	"slices"

	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// layout describes the tensors of a block.
type layout struct {
	features []*spec.Feature // ordered as their values
	unit     unit
}

// cutter cuts the windows of one file, block by block. The remainder of a block is put
// in front of the next one, so that at most a window and a block are kept.
//
// Its state is the ordinal of the next window, its first unit and the number of units
// kept, then the kept part of the blocks' tensors. The next window may start after the
// kept part, because a stride may be longer than a window.
type cutter struct {
	layout
	window stage.Window
	sizes  *draws
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
		dims[0] = -1 // with 0 TensorFlow would assume that length for every later state
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
	return next, append([]tfbridge.Output{found.begins, found.ends}, c.withOffsets(s, tensors)...)
}

// keep returns the tensors without the values of the first units.
func (c *cutter) keep(s *graph.Scope, tensors []tfbridge.Output, units tfbridge.Output) []tfbridge.Output {
	cut := &windowTensors{c.layout, c.withOffsets(s, tensors)}
	var kept []tfbridge.Output
	for i, x := range tensors {
		from := units // lengths of a list, one for each record
		if i < len(c.features) {
			from = cut.row(s, i, units)
		}
		kept = append(kept, graph.RowsFrom(s, x, from))
	}
	return kept
}

// windowTensors are a block's tensors as the cutter gives them: the joined
// values of every sorted feature, then the offsets of every list.
type windowTensors struct {
	layout
	tensors []tfbridge.Output
}

// withOffsets replaces the lengths of lists by the offsets where records
// begin and end.
func (l layout) withOffsets(s *graph.Scope, tensors []tfbridge.Output) []tfbridge.Output {
	out := append([]tfbridge.Output{}, tensors...)
	for i := len(l.features); i < len(out); i++ {
		out[i] = graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{0}), graph.Cumsum(s, out[i], 0)}, 0)
	}
	return out
}

// row returns where units of the windows, a scalar or a vector, begin in the
// values of feature i.
func (w *windowTensors) row(s *graph.Scope, i int, units tfbridge.Output) tfbridge.Output {
	return w.unit.row(s, w, i, units)
}

// recordRows returns the lengths of a feature in the records of each window, as ragged
// rows: one number for each record from begin up to but without end.
func (w *windowTensors) recordRows(s *graph.Scope, f *spec.Feature, begins, ends tfbridge.Output) column.Column {
	at := graph.RaggedRange(s, begins, ends)
	if !f.VarLen {
		length := s.Const(f.TensorShape()[0])
		return column.Column{Values: graph.Fill(s, graph.Shape(s, at.Values), length), Splits: at.RowSplits}
	}
	i := slices.Index(w.features, f)
	from := w.row(s, i, at.Values)
	to := w.row(s, i, graph.Add(s, at.Values, s.Const(int64(1))))
	return column.Column{Values: graph.Sub(s, to, from), Splits: at.RowSplits}
}
