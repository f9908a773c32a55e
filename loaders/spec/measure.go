package spec

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// LengthsArgs are the arguments of a secondary feature of type lengths.
type LengthsArgs struct {
	decl.Object
	Tensor string `json:"tensor" decl:"required" doc:"The to_name of the primary feature to measure, after its processing steps and before padding."`
	Axis   int64  `json:"axis" decl:"default=0,min=0,limit=253" doc:"The axis to measure, not counting the batch dimension."`
	Of     string `json:"of" decl:"default=example,enum=example|records" doc:"What to measure. \"example\": the tensor, which gives one number for each example. \"records\", only with discrete_sequence: each record that the window joins, before processing steps, which gives a vector."`
}

// MaskArgs are the arguments of a secondary feature of type mask.
type MaskArgs struct {
	decl.Object
	Tensor string `json:"tensor" decl:"required" doc:"The to_name of the primary feature that the mask is for. The mask is padded to the same size, with false."`
	Axis   int64  `json:"axis" decl:"default=0,min=0,limit=253" doc:"The axis of the tensor, not counting the batch dimension, after processing steps."`
}

// measurePart checks lengths and masks.
type measurePart struct{ *checker }

// startMeasure makes the tensor of a measure, as far as that is known before
// the processing steps.
func (c measurePart) startMeasure(args any, t *tensorState) {
	switch a := args.(type) {
	case *LengthsArgs:
		t.measure = &measuring{Measure{To: t.Name, Kind: Lengths, Tensor: a.Tensor, Axis: int(a.Axis), Records: a.Of == "records"}, &a.Object}
		t.DType, t.typed, t.shaped = tfbridge.Int64, true, true
	case *MaskArgs:
		t.measure = &measuring{Measure{To: t.Name, Kind: Mask, Tensor: a.Tensor, Axis: int(a.Axis)}, &a.Object}
		t.DType, t.typed = tfbridge.Bool, true
	}
	if t.measure.Records {
		c.recordLengths(t)
	}
}

// recordLengths checks lengths of the records of a window.
func (c measurePart) recordLengths(t *tensorState) {
	at := t.measure.at
	w := c.spec.Window
	if w == nil || w.Unit != Records {
		c.inConfig.Report(at.Key("of"), "only the windows of a discrete_sequence hold records")
		return
	}
	if t.measure.Axis != 0 {
		c.inConfig.Report(at.Key("axis"), "must be 0: records are joined along their first axis")
	}
	t.Shape = []int64{-1}
	if w.Min == w.Max {
		t.Shape[0] = w.Min
	}
}

// measures finds the tensors that are measured, after the processing steps.
func (c measurePart) measures() {
	for _, t := range c.tensors {
		if t.measure == nil || t.measure.at.At == nil || t.measure.at.Bad("tensor", "axis", "of") {
			continue
		}
		from := c.measured(t.measure)
		if from == nil || !from.shaped {
			continue
		}
		m := t.measure
		if m.Axis >= len(from.Shape) && !m.Records {
			c.inConfig.Report(m.at.Key("axis"), "axis %d of a tensor of %s: %s", m.Axis, processing.Dimensions(len(from.Shape)), processing.FormatShape(from.Shape))
			continue
		}
		if m.Kind == Mask {
			t.Shape, t.shaped = []int64{from.Shape[m.Axis]}, true
		}
		c.spec.Measures = append(c.spec.Measures, m.Measure)
	}
}

// measured returns the tensor that is measured, or nil if it is not a primary one.
func (c measurePart) measured(m *measuring) *tensorState {
	if from := c.primary(m.Tensor); from != nil {
		return from
	}
	d := c.inConfig.Report(m.at.Key("tensor"), "no primary feature named %s", decl.Quote(m.Tensor))
	if c.inConfig.Many() {
		return nil
	}
	if d.Hint = c.renamed(m.Tensor); d.Hint != "" {
		return nil
	}
	if _, ok := c.byName[m.Tensor]; ok {
		d.Hint = "that is a secondary feature; only primary ones can be measured"
		return nil
	}
	d.Hint = nearOrAll("primary features", m.Tensor, c.primaryNames())
	return nil
}

// maskPadding pads masks as the tensors that they belong to.
func (c measurePart) maskPadding() {
	for _, m := range c.spec.Measures {
		if m.Kind != Mask {
			continue
		}
		of := c.spec.Padding[c.byName[m.Tensor].index].Shape
		c.spec.Padding[c.byName[m.To].index].Shape = []int64{of[m.Axis]}
	}
}
