package audio

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// StftArgs are the arguments of a step of type stft.
type StftArgs struct {
	decl.Object
	FrameLength int64 `json:"frame_length" decl:"required,min=1,limit=1048576" doc:"How many samples a frame has."`
	FrameStep   int64 `json:"frame_step" decl:"required,min=1,limit=1048576" doc:"How many samples after the start of a frame the next one starts."`
	FFTLength   int64 `json:"fft_length" decl:"min=1,limit=2097152" doc:"The size of the transform, at least frame_length. The default is the next power of two."`
	PadEnd      bool  `json:"pad_end" decl:"default=false" doc:"Whether the end of the signal is padded with 0, so that every sample is in a frame."`
}

// stft is a checked step.
type stft struct {
	length, step, size int32
	padEnd             bool
	to                 processing.Tensor
}

// Check returns a step that makes the magnitudes of tf.signal.stft along the last axis, with a
// Hann window: [..., frames, fft_length/2 + 1].
func (a *StftArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("frame_length", "frame_step", "fft_length", "pad_end") {
		return nil
	}
	size := a.FFTLength
	if !a.Has("fft_length") {
		size = 1 << bits.Len64(uint64(a.FrameLength-1))
	}
	if size < a.FrameLength {
		c.Report(a.Key("fft_length"), "must be at least frame_length (%d), got %d", a.FrameLength, size)
		return nil
	}
	t, ok := c.Float32()
	if !ok || !c.Ranked(t, 1, -1) {
		return nil
	}
	last := len(t.Shape) - 1
	shape := append(slices.Clone(t.Shape[:last]), -1, size/2+1)
	if n := t.Shape[last]; n >= 0 && n < a.FrameLength && !a.PadEnd {
		d := c.Reporter.Warn(a.Key("frame_length"), "a frame of %d is longer than the last axis of %s, %s, so there are no frames", a.FrameLength, decl.Quote(t.Name), processing.FormatShape(t.Shape))
		if last > 0 && t.Shape[last-1] > n {
			d.Hint = "stft works along the last axis; a slice such as \":, 0\" before it takes a channel"
		}
	}
	if n := t.Shape[last]; n >= 0 && a.PadEnd {
		shape[last] = (n + a.FrameStep - 1) / a.FrameStep
	} else if n >= 0 {
		shape[last] = 0
		if n >= a.FrameLength {
			shape[last] = 1 + (n-a.FrameLength)/a.FrameStep
		}
	}
	return &stft{int32(a.FrameLength), int32(a.FrameStep), int32(size), a.PadEnd, processing.Tensor{DType: t.DType, Shape: shape}}
}

// Explain returns the sizes.
func (x *stft) Explain() string {
	what := fmt.Sprintf("frames of %d every %d, fft %d", x.length, x.step, x.size)
	if x.padEnd {
		what += ", padded"
	}
	return what
}

// Out returns the spectrogram.
func (x *stft) Out() processing.Tensor { return x.to }

// Build cuts frames, weights them, and transforms them.
func (x *stft) Build(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
	last := len(x.to.Shape) - 2
	one, zero := b.Const(int32(1)), b.Const(int32(0))
	samples := b.Dim(in[0], int64(last))
	signal := in[0]
	frames := samples.Sub(b.Const(x.length)).FloorDiv(b.Const(x.step)).Add(one).Maximum(zero)
	if x.padEnd {
		frames = samples.Add(b.Const(x.step - 1)).FloorDiv(b.Const(x.step))
		needed := frames.Sub(one).Mul(b.Const(x.step)).Add(b.Const(x.length)).Sub(samples).Maximum(zero)
		signal = b.PadAfter(signal, last, needed)
	}
	framed := x.frames(b, signal, frames, last)
	if x.length > 1 {
		framed = b.Tensor(framed).Mul(hann(b, x.length)).Output()
	}
	if x.size > x.length {
		framed = b.PadAfter(framed, last+1, b.Tensor(b.Const(x.size-x.length)))
	}
	spectrum := b.Op1("RFFT", nil, framed, b.Const([]int32{x.size}))
	return b.Shaped(b.Op1("ComplexAbs", map[string]any{"Tout": tfbridge.Float}, spectrum), x.to.Shape)
}

// frames cuts the frames of a signal along its last axis: [..., frames, length]. They are gathered piece
// by piece, where a piece is the greatest divisor of length and step, because a piece of 80 samples
// takes not much longer than a sample.
func (x *stft) frames(b *processing.Site, signal tfbridge.Output, frames graph.Tensor, last int) tfbridge.Output {
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	piece := x.length
	for rest := x.step % piece; rest > 0; {
		piece, rest = rest, piece%rest
	}
	zero, one := b.Const(int32(0)), b.Const(int32(1))
	lead := graph.Subscript(b.Scope, b.Op1("Shape", nil, signal), graph.Until(int64(last)))
	with := func(axes ...tfbridge.Output) tfbridge.Output {
		return b.Op1("ConcatV2", nil, tfbridge.OutputList{lead, graph.Pack(b.Scope, axes, 0)}, zero)
	}
	pieces := b.Dim(signal, int64(last)).FloorDiv(b.Const(piece))
	cut := b.Op1("Slice", nil, signal, b.Const(make([]int32, last+1)), with(pieces.Mul(b.Const(piece)).Output()))
	cut = b.Op1("Reshape", nil, cut, with(pieces.Output(), b.Const(piece)))
	starts := b.Tensor(b.Op1("Range", nil, zero, frames.Output(), one)).Mul(b.Const(x.step / piece)).ExpandDims(1)
	at := starts.Add(b.Const(count(x.length / piece)))
	framed := b.Op1("GatherV2", nil, cut, at.Output(), b.Const(int32(last)))
	return b.Op1("Reshape", nil, framed, with(frames.Output(), b.Const(x.length)))
}

// count returns 0 up to n.
func count(n int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// hann is tf.signal.hann_window.
func hann(b *processing.Site, length int32) graph.Tensor {
	n := b.Const(float32(length + 1 - length%2 - 1))
	positions := make([]float32, length)
	for i := range positions {
		positions[i] = float32(i)
	}
	angle := b.Tensor(b.Const(positions)).Mul(b.Const(float32(2 * math.Pi))).Div(n)
	return b.Tensor(b.Const(float32(0.5))).Sub(angle.Cos().Mul(b.Const(float32(0.5))))
}
