package build

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// assembleRagged makes a batch's tensors of the ragged rows of the sorted
// features, which are vectors of variants.
func (b *builder) assembleRagged(s *graph.Scope, rows []tfbridge.Output) []tfbridge.Output {
	features := b.plan.SortedFeatures()
	columns := make([]column, len(features), len(rows))
	for i, f := range features {
		columns[i] = b.raggedFeature(s, f, rows[i])
	}
	for _, row := range rows[min(len(features), len(rows)):] {
		x := graph.RaggedTensorFromVariant(s, row, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)})
		columns = append(columns, column{values: x.Values, splits: x.RowSplits})
	}
	return b.assemble(s, columns)
}

// raggedFeature returns the column of a feature, given a vector of variants.
func (b *builder) raggedFeature(s *graph.Scope, f *spec.Feature, rows tfbridge.Output) column {
	dims := slices.Clone(f.TensorShape())
	dims[0] = -1
	x := graph.RaggedTensorFromVariant(s, rows, graph.Spec{DType: f.DType, Shape: tfbridge.MakeShape(dims...)})
	return column{values: x.Values, splits: x.RowSplits}
}

// assemble makes a batch's tensors of the columns of the sorted features, and
// of record lengths that are measured: constants, then processing steps, then
// lengths and masks, then padding. It does to rows that differ in length what
// finish does to tensors.
func (b *builder) assemble(s *graph.Scope, features []column) []tfbridge.Output {
	columns := make(map[string]column, len(b.plan.Tensors))
	for _, primary := range b.plan.Primaries {
		columns[primary.To] = features[slices.Index(b.plan.SortedFeatures(), primary.From)]
	}
	b.constColumns(s, columns)
	for i := range b.plan.Steps {
		step := &b.plan.Steps[i]
		columns[step.Tensor] = b.sliceColumn(s, step, columns[step.Tensor])
	}
	b.measureColumns(s, columns, features[len(b.plan.Features):])
	out := make([]tfbridge.Output, len(b.plan.Tensors))
	for i, t := range b.plan.Tensors {
		out[i] = graph.EnsureShape(s, b.stack(s, i, columns[t.Name]), b.batchShape(i))
	}
	return out
}

// batchShape returns the static shape of tensor i in a batch.
func (b *builder) batchShape(i int) tfbridge.Shape {
	lead, shape := []int64{b.plan.BatchRows()}, b.plan.Tensors[i].Shape
	if b.plan.Padding == nil {
		return elementShape(lead, shape)
	}
	padded := slices.Clone(b.plan.Padding[i].Shape)
	for axis, n := range shape {
		if padded[axis] < 0 {
			padded[axis] = n
		}
	}
	return elementShape(lead, padded)
}

// constColumns adds the constants. A shape copied from rows that differ in
// length gives such rows.
func (b *builder) constColumns(s *graph.Scope, columns map[string]column) {
	for _, c := range b.plan.Secondaries {
		value := b.constant(s, c.Value, c.DType)
		if from, ok := columns[c.ShapeFrom]; ok && c.ShapeFrom != "" {
			columns[c.To] = column{values: graph.Fill(s, graph.Shape(s, from.values), value), splits: from.splits}
			continue
		}
		rows := columns[b.plan.Primaries[0].To].rows(s)
		shape := graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, rows, 0), s.Const(int64Vector(c.Shape))}, 0)
		columns[c.To] = column{values: graph.Fill(s, shape, value)}
	}
}

// stack makes one tensor of the rows of tensor i: padded to one length, or
// asserted to have one.
func (b *builder) stack(s *graph.Scope, i int, c column) tfbridge.Output {
	if b.plan.Padding == nil {
		if !c.ragged() {
			return c.values
		}
		return b.stackEqual(s, i, c)
	}
	if !c.ragged() {
		return b.padAxes(s, c.values, i, 0)
	}
	return b.stackPadded(s, i, column{values: b.padAxes(s, c.values, i, 1), splits: c.splits})
}

// stackEqual stacks rows of one length.
func (b *builder) stackEqual(s *graph.Scope, i int, c column) tfbridge.Output {
	t := b.plan.Tensors[i]
	lengths := c.lengths(s)
	axis := s.Const([]int64{0})
	least, most := graph.Min(s, lengths, axis), graph.Max(s, lengths, axis)
	s = b.assert(s, graph.Equal(s, least, most), []tfbridge.Output{least, most}, func(n []int64) *millrace.Error {
		shape := func(length int64) []int64 { return append([]int64{length}, t.Shape[1:]...) }
		e := millrace.Errorf(millrace.ErrSchema,
			"examples of one batch differ in shape: %v and %v; set args.padding, or a batch size of 1", shape(n[0]), shape(n[1]))
		e.Tensor = t.Name
		return e
	})
	return reshapeRows(s, c.values, t.Shape[1:], c.rows(s), most)
}

// stackPadded pads rows to one length. Their inner axes have their size.
func (b *builder) stackPadded(s *graph.Scope, i int, c column) tfbridge.Output {
	t, pad := b.plan.Tensors[i], b.plan.Padding[i]
	shape := []int64{-1, pad.Shape[0]}
	for axis, n := range t.Shape[1:] {
		shape = append(shape, max(n, pad.Shape[1+axis]))
	}
	if limit := pad.Shape[0]; limit >= 0 {
		most := graph.Max(s, c.lengths(s), s.Const([]int64{0}))
		s = b.assert(s, graph.LessEqual(s, most, s.Const(limit)), []tfbridge.Output{most}, func(n []int64) *millrace.Error {
			got := append([]int64{n[0]}, t.Shape[1:]...)
			e := millrace.Errorf(millrace.ErrSchema,
				"shape %v is larger than its padding %v in dimension 0; pad to more, or to -1", got, pad.Shape)
			e.Tensor = t.Name
			return e
		})
	}
	return graph.RaggedTensorToTensor(s, c.asRagged(), s.Const(shape), b.constant(s, pad.Value, t.DType))
}

// sliceColumn applies a processing step to every row.
func (b *builder) sliceColumn(s *graph.Scope, step *spec.Slice, c column) column {
	indices := []graph.Index{graph.Whole()}
	for _, i := range step.Indices {
		indices = append(indices, graph.Index{Single: i.Single, Begin: i.Begin, End: i.End})
	}
	if !c.ragged() {
		return column{values: graph.Subscript(s, c.values, indices...)}
	}
	first := step.Indices[0]
	switch {
	case first.Single:
		c = b.elementOfRows(s, step, c)
	case first.Begin != nil || first.End != nil:
		c = rangeOfRows(s, first, c)
	}
	indices = append(indices[:1], indices[2:]...) // the rows' own axis is dealt with
	return column{values: graph.Subscript(s, c.values, indices...), splits: c.splits}
}

// elementOfRows takes one element of every row.
func (b *builder) elementOfRows(s *graph.Scope, step *spec.Slice, c column) column {
	at := *step.Indices[0].Begin
	lengths := c.lengths(s)
	from, needed := c.starts(s), at+1
	if at < 0 {
		from, needed = graph.Add(s, from, lengths), -at
	}
	least := graph.Min(s, lengths, s.Const([]int64{0}))
	s = b.assert(s, graph.GreaterEqual(s, least, s.Const(needed)), []tfbridge.Output{least}, func(n []int64) *millrace.Error {
		shape := append([]int64{n[0]}, step.In.Shape[1:]...)
		e := millrace.Errorf(millrace.ErrSchema, "slice %q: index %d is out of range for dimension 0 of shape %v", step.Text, at, shape)
		e.Tensor, e.Key = step.Tensor, b.plan.StepKey(step)
		return e
	})
	return column{values: graph.GatherV2(s, c.values, graph.Add(s, from, s.Const(at)), 0)}
}

// rangeOfRows takes a range of every row.
func rangeOfRows(s *graph.Scope, index spec.SliceIndex, c column) column {
	lengths, starts := c.lengths(s), c.starts(s)
	clamp := func(i int64) tfbridge.Output {
		if i < 0 {
			return graph.Maximum(s, graph.Add(s, lengths, s.Const(i)), s.Const(int64(0)))
		}
		return graph.Minimum(s, lengths, s.Const(i))
	}
	begin, end := graph.ZerosLike(s, lengths), lengths
	if index.Begin != nil {
		begin = clamp(*index.Begin)
	}
	if index.End != nil {
		end = graph.Maximum(s, clamp(*index.End), begin)
	}
	return c.take(s, graph.Add(s, starts, begin), graph.Add(s, starts, end))
}
