package audio

import (
	"fmt"
	"slices"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// MelArgs are the arguments of a step of type mel.
type MelArgs struct {
	decl.Object
	Bins       int64   `json:"bins" decl:"required,min=1,limit=65536" doc:"How many bands there are."`
	SampleRate int64   `json:"sample_rate" decl:"required,min=1,max=16777216" doc:"How many samples of the sound a second has."`
	Lower      float64 `json:"lower" decl:"default=125,min=0" doc:"The lower edge of the lowest band, in hertz."`
	Upper      float64 `json:"upper" decl:"default=3800,above=0" doc:"The upper edge of the highest band, in hertz, at most half the sample rate."`
}

// mel is a checked step.
type mel struct {
	bins, spectrum     int64
	rate, lower, upper float32
	to                 processing.Tensor
}

// Check returns a step that multiplies a spectrogram, along its last axis, with
// tf.signal.linear_to_mel_weight_matrix.
func (a *MelArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("bins", "sample_rate", "lower", "upper") {
		return nil
	}
	switch {
	case a.Upper <= a.Lower:
		c.Report(a.Key("upper"), "must be more than lower (%v), got %v", a.Lower, a.Upper)
		return nil
	case a.Upper > float64(a.SampleRate)/2:
		c.Report(a.Key("upper"), "must be at most half the sample rate (%v), got %v", float64(a.SampleRate)/2, a.Upper)
		return nil
	}
	t, ok := c.Float32()
	if !ok || !c.Ranked(t, 1, -1) {
		return nil
	}
	last := len(t.Shape) - 1
	if t.Shape[last] < 2 {
		c.Report(c.Entry.Key("tensor"), "the last axis of %s must have a known size of at least 2, the bins of a spectrogram; its shape is %s", decl.Quote(t.Name), processing.FormatShape(t.Shape))
		return nil
	}
	shape := append(slices.Clone(t.Shape[:last]), a.Bins)
	return &mel{a.Bins, t.Shape[last], float32(a.SampleRate), float32(a.Lower), float32(a.Upper), processing.Tensor{DType: t.DType, Shape: shape}}
}

// Explain returns the bands.
func (m *mel) Explain() string {
	return fmt.Sprintf("%d bands from %v to %v Hz, %v samples a second", m.bins, m.lower, m.upper, m.rate)
}

// Out returns the bands' energies.
func (m *mel) Out() processing.Tensor { return m.to }

// Build multiplies the spectrogram with the matrix.
func (m *mel) Build(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
	flat := b.Op1("Reshape", nil, in[0], b.Const([]int32{-1, int32(m.spectrum)}))
	product := b.Op1("MatMul", nil, flat, m.matrix(b).Output())
	shape := b.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, in[0])
	outer := b.Tensor(shape).Subscript(graph.Until(-1)).Output()
	size := b.Op1("ConcatV2", nil, tfbridge.OutputList{outer, b.Const([]int32{int32(m.bins)})}, b.Const(int32(0)))
	return b.Shaped(b.Op1("Reshape", nil, product, size), m.to.Shape)
}

// matrix computes the weights as Python does, operation by operation, so that they have the same
// bits.
func (m *mel) matrix(b *processing.Site) graph.Tensor {
	zero := b.Tensor(b.Const(float32(0)))
	half := b.Tensor(b.Const(m.rate)).Div(b.Const(float32(2)))
	bins := inMel(b, spaced(b, zero, half, m.spectrum).Subscript(graph.From(1))).ExpandDims(1)
	edges := spaced(b, inMel(b, b.Tensor(b.Const(m.lower))), inMel(b, b.Tensor(b.Const(m.upper))), m.bins+2)
	part := func(from int64) graph.Tensor {
		return edges.Subscript(graph.Between(from, from+m.bins)).ExpandDims(0)
	}
	lower, center, upper := part(0), part(1), part(2)
	rising := bins.Sub(lower).Div(center.Sub(lower))
	falling := upper.Sub(bins).Div(upper.Sub(center))
	weights := zero.Maximum(rising.Minimum(falling))
	return b.Tensor(b.Op1("Pad", nil, weights.Output(), b.Const([][]int32{{1, 0}, {0, 0}})))
}

// inMel converts hertz to mel.
func inMel(b *processing.Site, hertz graph.Tensor) graph.Tensor {
	one := b.Tensor(b.Const(float32(1)))
	return b.Tensor(b.Const(float32(1127))).Mul(one.Add(hertz.Div(b.Const(float32(700)))).Log())
}

// spaced is tf.linspace of at least two numbers.
func spaced(b *processing.Site, start, stop graph.Tensor, n int64) graph.Tensor {
	start, stop = start.ExpandDims(0), stop.ExpandDims(0)
	steps := b.Const(float32(n - 1))
	delta := stop.Sub(start).Div(steps)
	between := make([]float32, 0, n)
	for i := int64(1); i < n-1; i++ {
		between = append(between, float32(i))
	}
	inner := start.Add(delta.Mul(b.Const(between)))
	return start.Concat(0, inner, stop)
}
