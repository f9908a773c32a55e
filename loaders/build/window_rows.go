package build

import (
	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// windowRows makes a group of windows: the plan's tensors with one more axis in
// front if all windows have one shape, else a vector of ragged rows for each
// sorted feature and for the lengths of records that are measured.
func (b *windowBuilder) windowRows(s *graph.Scope, begins, ends tfbridge.Output, tensors []tfbridge.Output) []tfbridge.Output {
	w := &windowTensors{b.plan, b.unit, tensors}
	var rows []tfbridge.Output
	for i, f := range b.plan.SortedFeatures() {
		from, to := w.row(s, i, begins), w.row(s, i, ends)
		if b.plan.EqualWindows() {
			rows = append(rows, b.equalRows(s, f, tensors[i], from, to))
			continue
		}
		c := b.raggedRows(s, tensors[i], from, to)
		rows = append(rows, graph.RaggedTensorToVariant(s, c.asRagged()))
	}
	if b.plan.EqualWindows() {
		return b.derive(s, rows, []int64{-1})
	}
	for _, m := range b.plan.RecordMeasures() {
		lengths := w.recordRows(s, m, begins, ends)
		rows = append(rows, graph.RaggedTensorToVariant(s, lengths.asRagged()))
	}
	return rows
}

// equalRows stacks windows of one length, cut from the joined values of a
// feature.
func (b *windowBuilder) equalRows(s *graph.Scope, f *spec.Feature, values, from, to tfbridge.Output) tfbridge.Output {
	size := b.plan.Window.Shape(f.TensorShape())[0]
	if b.plan.Window.Stride == 0 {
		inner := append([]int64{size}, f.TensorShape()[1:]...)
		return reshapeRows(s, rowsBetween(s, values, from, to), inner, graph.Size(s, from))
	}
	along := graph.Range(s, s.Const(int64(0)), s.Const(size), s.Const(int64(1)))
	return graph.GatherV2(s, values, graph.Add(s, graph.ExpandDims(s, from, 1), along), 0)
}

// raggedRows joins windows of any length, cut from the joined values of a
// feature.
func (b *windowBuilder) raggedRows(s *graph.Scope, values, from, to tfbridge.Output) column {
	if b.plan.Window.Stride > 0 {
		return column{values: values}.take(s, from, to)
	}
	first := graph.Subscript(s, from, graph.At(0))
	splits := graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, first, 0), to}, 0)
	return column{values: rowsBetween(s, values, from, to), splits: graph.Sub(s, splits, first)}
}

// rowsBetween returns the values of windows of which each begins where the one
// before ends.
func rowsBetween(s *graph.Scope, values, from, to tfbridge.Output) tfbridge.Output {
	return graph.Rows(s, values, graph.Subscript(s, from, graph.At(0)), graph.Subscript(s, to, graph.At(-1)))
}
