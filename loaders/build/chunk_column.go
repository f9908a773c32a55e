package build

import (
	"slices"

	"millrace/graph"
	"millrace/loaders/build/feed"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// chunkColumn is a tensor of the records that rows are cut from: one of the
// plan's, or one that is made of the records' places.
type chunkColumn struct {
	name     string
	dtype    tfbridge.DataType
	tensor   int            // the place among the plan's tensors
	ragged   bool           // records differ in length: values are joined
	sequence *spec.Sequence // nil for a tensor without a time axis
	frames   int64          // of every record, where a sequence is not ragged
}

// chunkColumns lists the columns of a plan. What tells of rows and not of
// records is none.
func chunkColumns(p *plan.Plan) []chunkColumn {
	var columns []chunkColumn
	for i, t := range p.Tensors {
		o := p.Chunks.Output(t.Name)
		if o != nil && o.Kind != spec.SeqTag && o.Kind != spec.SeqIdx {
			continue
		}
		if m := p.MeasureOf(t.Name); m != nil && measuresRows(p, m) {
			continue
		}
		c := chunkColumn{name: t.Name, dtype: t.DType, tensor: i, ragged: isRagged(p, t.Name)}
		if at := slices.IndexFunc(p.Chunks.Sequences, func(s spec.Sequence) bool { return s.Tensor == t.Name }); at >= 0 {
			c.sequence = &p.Chunks.Sequences[at]
			c.frames = recordFrames(p, t.Name)
		}
		columns = append(columns, c)
	}
	return columns
}

// framed reports whether rows of the column have frames, which are padded.
func (c *chunkColumn) framed() bool { return c.ragged || c.sequence != nil }

// context returns the frames around a row of the column.
func (c *chunkColumn) context() (left, right int64) {
	if c.sequence == nil {
		return 0, 0
	}
	return c.sequence.Left, c.sequence.Right
}

// measuresRows reports whether a measure is known only when rows are cut: of
// frames, or of all elements.
func measuresRows(p *plan.Plan, m *spec.Measure) bool {
	if m.Kind == spec.ElementCount {
		return true
	}
	isSequence := func(s spec.Sequence) bool { return s.Tensor == m.Tensor }
	return m.Axis == 0 && (isRagged(p, m.Tensor) || slices.ContainsFunc(p.Chunks.Sequences, isSequence))
}

// isRagged reports whether records differ in the length of a tensor.
func isRagged(p *plan.Plan, name string) bool {
	f := p.FeatureOf(origin(p, name))
	if f == nil || !f.VarLen {
		return false
	}
	return !slices.ContainsFunc(p.Steps, func(step spec.Slice) bool {
		return step.Tensor == name && len(step.In.Shape) > 0 && step.In.Shape[0] < 0 && step.Indices[0].Single
	})
}

// origin returns the primary whose shape a constant has, or the name itself.
func origin(p *plan.Plan, name string) string {
	for _, c := range p.Secondaries {
		if c.To == name && c.ShapeFrom != "" {
			return c.ShapeFrom
		}
	}
	return name
}

// recordFrames returns how many frames every record has of a sequence that is
// not ragged.
func recordFrames(p *plan.Plan, name string) int64 {
	f := p.FeatureOf(origin(p, name))
	if f == nil || f.VarLen {
		return 0
	}
	frames := f.TensorShape()[0]
	for _, step := range p.Steps {
		if step.Tensor == name {
			frames = step.Indices[0].Length(frames)
		}
	}
	return frames
}

// groupColumns parses a group of records to the components of the columns: for
// each its values, and of a ragged one where each record begins in them. Behind
// them come the places of the records.
func (b *chunkBuilder) groupColumns(s *graph.Scope, group []tfbridge.Output) []tfbridge.Output {
	number, records, places := group[0], group[1], b.places(s, group)
	features := b.parseRecords(s, records)
	columns := make(map[string]column, len(b.plan.Tensors))
	for _, primary := range b.plan.Primaries {
		columns[primary.To] = features[slices.Index(b.plan.SortedFeatures(), primary.From)]
	}
	b.constColumns(s, columns)
	for i := range b.plan.Steps {
		step := &b.plan.Steps[i]
		columns[step.Tensor] = b.sliceColumn(s, step, columns[step.Tensor])
	}
	b.recordMeasures(s, columns)
	b.nameSequences(s, columns, features, number, places)
	var out []tfbridge.Output
	for _, c := range b.columns {
		x := b.padFrames(s, &c, columns[c.name])
		if out = append(out, x.values); c.ragged {
			out = append(out, x.splits)
		}
	}
	return append(out, places)
}

// places returns the places of a group's records, [records, 3].
func (b *chunkBuilder) places(s *graph.Scope, group []tfbridge.Output) tfbridge.Output {
	if !b.plan.Engine().Own {
		return group[2]
	}
	n := int64(feed.PlaceBytes)
	bytes := graph.Substr(s, group[1], s.Const(-n), s.Const(n))
	return graph.EnsureShape(s, graph.DecodeRaw(s, bytes, tfbridge.Int64, nil), tfbridge.MakeShape(-1, n/8))
}

// recordMeasures adds lengths and masks that are known before rows are cut.
func (b *chunkBuilder) recordMeasures(s *graph.Scope, columns map[string]column) {
	for _, m := range b.plan.Measures {
		if measuresRows(b.plan, &m) {
			continue
		}
		if of := columns[m.Tensor]; m.Kind == spec.Mask {
			columns[m.To] = of.mask(s, m.Axis)
		} else {
			columns[m.To] = column{values: of.sizes(s, m.Axis)}
		}
	}
}

// nameSequences adds the automatic outputs that are known of records.
func (b *chunkBuilder) nameSequences(s *graph.Scope, columns map[string]column, features []column, number, places tfbridge.Output) {
	for _, o := range b.plan.Chunks.Outputs {
		switch f := b.plan.Chunks.TagFeature; {
		case o.Kind == spec.SeqIdx:
			columns[o.To] = column{values: graph.Cast(s, number, tfbridge.Int32)}
		case o.Kind != spec.SeqTag:
		case f != nil:
			columns[o.To] = features[slices.Index(b.plan.SortedFeatures(), f)]
		default:
			columns[o.To] = column{values: b.placeNames(s, places)}
		}
	}
}

// placeNames returns the names of places: PATH:N.
func (b *chunkBuilder) placeNames(s *graph.Scope, places tfbridge.Output) tfbridge.Output {
	var names []string
	for _, f := range b.plan.Files {
		names = append(names, f.Name)
	}
	file := graph.Subscript(s, places, graph.Whole(), graph.At(0))
	record := graph.Subscript(s, places, graph.Whole(), graph.At(1))
	return graph.StringJoin(s, ":", graph.GatherV2(s, s.Const(names), file, 0), graph.AsString(s, record))
}

// padFrames pads what is within the frames of a column, or within its records
// where it has no frames.
func (b *chunkBuilder) padFrames(s *graph.Scope, c *chunkColumn, x column) column {
	i := c.tensor
	switch {
	case c.ragged:
		x.values = b.padAxes(s, x.values, i, 1)
	case c.sequence != nil:
		x.values = b.padAxesBehind(s, x.values, i, 1, 2)
	default:
		x.values = b.padAxes(s, x.values, i, 0)
	}
	return x
}
