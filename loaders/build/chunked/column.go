package chunked

import (
	"slices"

	"millrace/loaders/build/target"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// layout describes the tensors from which rows are cut, and how.
type layout struct {
	chunks    stage.Chunks
	frames    int64 // frames of a batch, padding included
	columns   []chunkColumn
	parse     stage.Parse
	measures  map[string]stage.Measure
	constants []stage.Constant
	steps     []stage.Step
}

func newLayout(t *target.Target) layout {
	l := layout{
		parse: t.Parse, measures: map[string]stage.Measure{},
		constants: stage.All[stage.Constant](t.Stages), steps: stage.All[stage.Step](t.Stages),
	}
	l.chunks, _ = stage.Find[stage.Chunks](t.Stages)
	budget, _ := stage.Find[stage.Budget](t.Stages)
	l.frames = budget.Frames
	for _, m := range stage.All[stage.Measure](t.Stages) {
		l.measures[m.To] = m
	}
	l.columns = l.list(t.Out)
	return l
}

// chunkColumn is a tensor of the records from which rows are cut: one of the plan's, or
// one made of the records' locations.
type chunkColumn struct {
	name     string
	dtype    tfbridge.DataType
	tensor   int            // index of the tensor in a batch
	ragged   bool           // records differ in length: values are joined
	sequence *spec.Sequence // nil for a tensor without a time axis
	frames   int64          // frames of every record, where a sequence is not ragged
}

// list returns the columns of the tensors of a batch, without those that describe rows.
func (l *layout) list(out stage.Padded) []chunkColumn {
	var columns []chunkColumn
	for i, t := range out.Tensors {
		o := l.chunks.Output(t.Name)
		if o != nil && o.Kind != spec.SeqTag && o.Kind != spec.SeqIdx {
			continue
		}
		if m, ok := l.measures[t.Name]; ok && l.measuresRows(m) {
			continue
		}
		c := chunkColumn{name: t.Name, dtype: t.DType, tensor: i, ragged: l.isRagged(t.Name)}
		if at := slices.IndexFunc(l.chunks.Sequences, func(s spec.Sequence) bool { return s.Tensor == t.Name }); at >= 0 {
			c.sequence = &l.chunks.Sequences[at]
			c.frames = l.recordFrames(t.Name)
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

// measuresRows reports whether a measure is known only when rows are cut: the number of
// frames, or of all elements.
func (l *layout) measuresRows(m stage.Measure) bool {
	if m.Kind == spec.ElementCount {
		return true
	}
	isSequence := func(s spec.Sequence) bool { return s.Tensor == m.Tensor }
	return m.Axis == 0 && (l.isRagged(m.Tensor) || slices.ContainsFunc(l.chunks.Sequences, isSequence))
}

// isRagged reports whether records differ in the length of a tensor.
func (l *layout) isRagged(name string) bool {
	if last := l.lastStep(name); last != nil {
		shape := last.Result().Shape
		return len(shape) > 0 && shape[0] < 0
	}
	f := l.featureOf(name)
	return f != nil && f.VarLen
}

// lastStep returns the step that writes a tensor last, nil if none does.
func (l *layout) lastStep(name string) *stage.Step {
	for i := len(l.steps) - 1; i >= 0; i-- {
		if l.steps[i].Writes == name {
			return &l.steps[i]
		}
	}
	return nil
}

// featureOf returns the feature from which a tensor is read, or whose shape a constant
// has, nil for other tensors.
func (l *layout) featureOf(name string) *spec.Feature {
	for _, c := range l.constants {
		if c.To == name && c.ShapeFrom != "" {
			name = c.ShapeFrom
			break
		}
	}
	return l.parse.FeatureOf(name)
}

// recordFrames returns the number of frames of every record of a sequence that is not
// ragged.
func (l *layout) recordFrames(name string) int64 {
	if last := l.lastStep(name); last != nil {
		return max(last.Result().Shape[0], 0)
	}
	f := l.featureOf(name)
	if f == nil || f.VarLen {
		return 0
	}
	return f.TensorShape()[0]
}
