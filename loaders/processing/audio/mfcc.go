package audio

import (
	"fmt"
	"math"
	"slices"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// MfccArgs are the arguments of a step of type mfcc.
type MfccArgs struct {
	decl.Object
	Coefficients int64 `json:"coefficients" decl:"required,min=1,limit=65536" doc:"How many coefficients are kept, the first ones."`
}

// mfcc is a checked step.
type mfcc struct {
	keep, bins int64
	to         processing.Tensor
}

// Check returns a step that is tf.signal.mfccs_from_log_mel_spectrograms.
func (a *MfccArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Float32()
	if a.At == nil || a.Bad("coefficients") || !ok || !c.Ranked(t, 1, -1) {
		return nil
	}
	last := len(t.Shape) - 1
	n := t.Shape[last]
	switch {
	case n < 1:
		c.Report(c.Entry.Key("tensor"), "the last axis of %s must have a known size, the bands of mel; its shape is %s", decl.Quote(t.Name), processing.FormatShape(t.Shape))
		return nil
	case a.Coefficients > n:
		c.Report(a.Key("coefficients"), "must be at most %d, the bands of %s, got %d", n, decl.Quote(t.Name), a.Coefficients)
		return nil
	}
	shape := append(slices.Clone(t.Shape[:last]), a.Coefficients)
	return &mfcc{a.Coefficients, n, processing.Tensor{DType: t.DType, Shape: shape}}
}

// Explain returns the number of coefficients.
func (m *mfcc) Explain() string { return fmt.Sprintf("%d coefficients", m.keep) }

// Out returns the coefficients.
func (m *mfcc) Out() processing.Tensor { return m.to }

// Build makes a discrete cosine transform of type II, by a Fourier transform of twice the size.
func (m *mfcc) Build(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
	last := len(m.to.Shape) - 1
	padded := b.PadAfter(in[0], last, b.Tensor(b.Const(int32(m.bins))))
	spectrum := b.Tensor(b.Op1("RFFT", nil, padded, b.Const([]int32{int32(2 * m.bins)})))
	index := make([]graph.Index, last, last+1)
	spectrum = spectrum.Subscript(append(index, graph.Until(m.bins))...)
	angle := b.Tensor(b.Op1("Neg", nil, b.Op1("Range", nil, b.Const(float32(0)), b.Const(float32(m.bins)), b.Const(float32(1)))))
	angle = angle.Mul(b.Const(float32(math.Pi))).Mul(b.Const(float32(0.5))).Div(b.Const(float32(m.bins)))
	turn := b.Op1("Complex", map[string]any{"Tout": tfbridge.Complex64}, b.Const(float32(0)), angle.Output())
	two := b.Const(complex64(2))
	scale := b.Tensor(two).Mul(b.Op1("Exp", nil, turn))
	real := b.Tensor(b.Op1("Real", map[string]any{"Tout": tfbridge.Float}, spectrum.Mul(scale).Output()))
	factor := b.Tensor(b.Const(float32(m.bins))).Mul(b.Const(float32(2))).Rsqrt()
	index = make([]graph.Index, last, last+1)
	return b.Shaped(real.Mul(factor).Subscript(append(index, graph.Until(m.keep))...).Output(), m.to.Shape)
}
