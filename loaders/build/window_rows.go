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
		if b.plan.Engine().EqualWindows() {
			rows = append(rows, b.equalRows(s, f, tensors[i], from, to))
			continue
		}
		c := b.raggedRows(s, tensors[i], from, to)
		rows = append(rows, graph.RaggedTensorToVariant(s, c.asRagged()))
	}
	if b.plan.Engine().EqualWindows() && b.stored {
		return rows
	}
	if b.plan.Engine().EqualWindows() {
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
	if b.joinedWindows() {
		inner := append([]int64{size}, f.TensorShape()[1:]...)
		return reshapeRows(s, rowsBetween(s, values, from, to), inner, graph.Size(s, from))
	}
	along := graph.Range(s, s.Const(int64(0)), s.Const(size), s.Const(int64(1)))
	at := graph.Add(s, graph.ExpandDims(s, from, 1), along)
	if b.plan.Records != nil && b.plan.Window.Tail == spec.TailPad {
		values, at = padEnds(s, values, at, to)
	}
	return graph.GatherV2(s, values, at, 0)
}

// joinedWindows reports whether each window of a group begins where the one before
// ends.
func (b *windowBuilder) joinedWindows() bool {
	return b.plan.Window.Stride == 0 && b.plan.Records == nil
}

// padEnds has positions behind the end of their window be those of a row of zeros
// that it adds to the values.
func padEnds(s *graph.Scope, values, at, to tfbridge.Output) (padded, clamped tfbridge.Output) {
	shape := graph.Shape(s, values)
	row := graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{1}), graph.Subscript(s, shape, graph.From(1))}, 0)
	zero := graph.Fill(s, row, s.Zeros(values.DataType()))
	inside := graph.Less(s, at, graph.ExpandDims(s, to, 1))
	rows := graph.Fill(s, graph.Shape(s, at), graph.Subscript(s, shape, graph.At(0)))
	return graph.ConcatV2(s, []tfbridge.Output{values, zero}, 0), graph.Select(s, inside, at, rows)
}

// raggedRows joins windows of any length, cut from the joined values of a
// feature.
func (b *windowBuilder) raggedRows(s *graph.Scope, values, from, to tfbridge.Output) column {
	if !b.joinedWindows() {
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
