package windows

import (
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// rows makes a group of windows: the plan's tensors with one more axis in
// front if all windows have one shape, else a vector of ragged rows for each
// sorted feature and for the lengths of records that are measured.
func (b *blocks) rows(s *graph.Scope, begins, ends tfbridge.Output, tensors []tfbridge.Output) []tfbridge.Output {
	w := &windowTensors{b.layout, tensors}
	var rows []tfbridge.Output
	for i, f := range b.Parse.Features {
		from, to := w.row(s, i, begins), w.row(s, i, ends)
		if b.Engine.EqualWindows() {
			rows = append(rows, b.equalRows(s, f, tensors[i], from, to))
			continue
		}
		c := b.raggedRows(s, tensors[i], from, to)
		rows = append(rows, graph.RaggedTensorToVariant(s, c.AsRagged()))
	}
	if b.Engine.EqualWindows() && (b.stored || b.StepsSingly()) {
		return rows
	}
	if b.Engine.EqualWindows() {
		return b.processor.Derive(s, rows, []int64{-1})
	}
	for _, m := range recordMeasures(b.Stages) {
		lengths := w.recordRows(s, b.Parse.FeatureOf(m.Tensor), begins, ends)
		rows = append(rows, graph.RaggedTensorToVariant(s, lengths.AsRagged()))
	}
	return rows
}

// equalRows stacks windows of one length, cut from the joined values of a
// feature.
func (b *blocks) equalRows(s *graph.Scope, f *spec.Feature, values, from, to tfbridge.Output) tfbridge.Output {
	size := b.window.Shape(f.TensorShape())[0]
	if b.joinedWindows() {
		inner := append([]int64{size}, f.TensorShape()[1:]...)
		return column.ReshapeRows(s, rowsBetween(s, values, from, to), inner, graph.Size(s, from))
	}
	along := graph.Range(s, s.Const(int64(0)), s.Const(size), s.Const(int64(1)))
	at := graph.Add(s, graph.ExpandDims(s, from, 1), along)
	if b.apart && b.window.Tail == spec.TailPad {
		values, at = padEnds(s, values, at, to)
	}
	return graph.GatherV2(s, values, at, 0)
}

// joinedWindows reports whether each window of a group begins where the previous one
// ends.
func (b *blocks) joinedWindows() bool {
	return b.window.Stride == 0 && !b.apart
}

// padEnds adds a row of zeros to the values, and replaces the positions after the end of
// their window by the position of that row.
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
func (b *blocks) raggedRows(s *graph.Scope, values, from, to tfbridge.Output) column.Column {
	if !b.joinedWindows() {
		return column.Column{Values: values}.Take(s, from, to)
	}
	first := graph.Subscript(s, from, graph.At(0))
	splits := graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, first, 0), to}, 0)
	return column.Column{Values: rowsBetween(s, values, from, to), Splits: graph.Sub(s, splits, first)}
}

// rowsBetween returns the values of windows, each of which begins where the previous
// one ends.
func rowsBetween(s *graph.Scope, values, from, to tfbridge.Output) tfbridge.Output {
	return graph.Rows(s, values, graph.Subscript(s, from, graph.At(0)), graph.Subscript(s, to, graph.At(-1)))
}
