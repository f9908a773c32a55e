package build

import (
	"slices"

	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// addMeasures adds lengths and masks of tensors that are not padded yet. lead
// is how many dimensions stand before each tensor's own.
func (b *builder) addMeasures(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	for _, m := range b.plan.Measures {
		shape := graph.Shape(s, values[m.Tensor])
		batch := graph.Subscript(s, shape, graph.Until(int64(lead)))
		switch {
		case m.Records:
			values[m.To] = b.recordSizes(s, m, batch)
		case m.Kind == spec.Mask:
			along := graph.Subscript(s, shape, graph.Between(int64(lead+m.Axis), int64(lead+m.Axis+1)))
			values[m.To] = graph.Fill(s, graph.ConcatV2(s, []tfbridge.Output{batch, along}, 0), s.Const(true))
		case m.Kind == spec.ElementCount:
			values[m.To] = graph.Size(s, values[m.Tensor]) // of one example: those of a batch are alike, and not counted
		default:
			values[m.To] = graph.Fill(s, batch, graph.Subscript(s, shape, graph.At(int64(lead+m.Axis))))
		}
	}
}

// recordSizes makes the lengths of the records of windows that all have as
// many records of one length.
func (b *builder) recordSizes(s *graph.Scope, m spec.Measure, batch tfbridge.Output) tfbridge.Output {
	length := b.plan.FeatureOf(m.Tensor).TensorShape()[0]
	records := s.Const([]int64{b.plan.Window.Min})
	return graph.Fill(s, graph.ConcatV2(s, []tfbridge.Output{batch, records}, 0), s.Const(length))
}

// measureColumns adds lengths and masks of rows that may differ in length.
// records are the lengths of the records of every window, one column for each
// of the plan's recordMeasures.
func (b *builder) measureColumns(s *graph.Scope, columns map[string]column, records []column) {
	for _, m := range b.plan.Measures {
		of := columns[m.Tensor]
		switch {
		case m.Records:
			columns[m.To], records = records[0], records[1:]
		case m.Kind == spec.Mask:
			columns[m.To] = of.mask(s, m.Axis)
		case m.Kind == spec.ElementCount:
			columns[m.To] = column{values: of.elements(s, b.plan.Tensor(m.Tensor))}
		default:
			columns[m.To] = column{values: of.sizes(s, m.Axis)}
		}
	}
}

// sizes returns the size of every row along an axis.
func (c column) sizes(s *graph.Scope, axis int) tfbridge.Output {
	if c.ragged() && axis == 0 {
		return c.lengths(s)
	}
	return graph.Fill(s, graph.ExpandDims(s, c.rows(s), 0), c.innerSize(s, axis))
}

// elements returns the number of elements of every row of a tensor whose rows differ
// in length.
func (c column) elements(s *graph.Scope, t spec.TensorSpec) tfbridge.Output {
	return graph.Mul(s, c.lengths(s), s.Const(spec.NumElements(t.Shape[1:])))
}

// mask returns a column that is true for every position along an axis.
func (c column) mask(s *graph.Scope, axis int) column {
	yes := s.Const(true)
	if c.ragged() && axis == 0 {
		positions := graph.Subscript(s, graph.Shape(s, c.values), graph.Until(1))
		return column{values: graph.Fill(s, positions, yes), splits: c.splits}
	}
	shape := graph.Pack(s, []tfbridge.Output{c.rows(s), c.innerSize(s, axis)}, 0)
	return column{values: graph.Fill(s, shape, yes)}
}

// innerSize returns the size of an axis that all rows have alike.
func (c column) innerSize(s *graph.Scope, axis int) tfbridge.Output {
	if !c.ragged() {
		axis++ // of the rows
	}
	return graph.Subscript(s, graph.Shape(s, c.values), graph.At(int64(axis)))
}

// recordRows returns the lengths of the records of each window, as ragged
// rows: one number for each record from begin up to but without end.
func (w *windowTensors) recordRows(s *graph.Scope, m spec.Measure, begins, ends tfbridge.Output) column {
	at := graph.RaggedRange(s, begins, ends)
	f := w.plan.FeatureOf(m.Tensor)
	if !f.VarLen {
		length := s.Const(f.TensorShape()[0])
		return column{values: graph.Fill(s, graph.Shape(s, at.Values), length), splits: at.RowSplits}
	}
	place := slices.Index(w.plan.SortedFeatures(), f)
	from := w.row(s, place, at.Values)
	to := w.row(s, place, graph.Add(s, at.Values, s.Const(int64(1))))
	return column{values: graph.Sub(s, to, from), splits: at.RowSplits}
}
