package image

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Image is an image or a batch of images, with the scope that methods add to.
// A method returns a new Image and does not change its receiver.
type Image struct{ t graph.Tensor }

// New returns an output as an Image.
func New(s *graph.Scope, output tfbridge.Output) Image {
	return Image{graph.NewTensor(s, output)}
}

// DecodeOptions are the options of Decode. Nil and the zero value mean the defaults.
type DecodeOptions struct {
	Channels  int64             // 1 grey, 3 RGB, 4 RGBA; 0: the image's own
	DType     tfbridge.DataType // Uint8, Uint16 or Float; 0: Uint8
	Animation bool              // all frames of a GIF, as a batch; the number of dimensions is then unknown while building
}

// Decode adds a DecodeImage of a string that holds a JPEG, PNG, BMP or GIF.
func Decode(s *graph.Scope, contents tfbridge.Output, o *DecodeOptions) Image {
	if o == nil {
		o = &DecodeOptions{}
	}
	dt := o.DType
	if dt == 0 {
		dt = tfbridge.Uint8
	}
	channels := o.Channels
	output := s.Op1("DecodeImage", map[string]any{"channels": channels, "dtype": dt, "expand_animations": o.Animation}, contents)
	if o.Animation {
		return New(s, output)
	}
	if channels == 0 {
		channels = -1
	}
	return New(s, graph.EnsureShape(s, output, tfbridge.MakeShape(-1, -1, channels)))
}

// ReadFile adds a ReadFile, and a DecodeImage of the file's contents. The graph reads
// the file when it runs.
func ReadFile(s *graph.Scope, path string, o *DecodeOptions) Image {
	return Decode(s, s.Op1("ReadFile", nil, s.Const(path)), o)
}

// Tensor returns the image as a tensor, for other operations.
func (i Image) Tensor() graph.Tensor { return i.t }

// Output returns the output, the zero Output after a failure.
func (i Image) Output() tfbridge.Output { return i.t.Output() }

// Err returns the scope's first failure.
func (i Image) Err() error { return i.t.Err() }

// DataType returns the data type of a pixel's channel.
func (i Image) DataType() tfbridge.DataType { return i.t.DataType() }

// ok reports whether the image has a scope without a failure.
func (i Image) ok() bool { return i.t.Scope() != nil && i.t.Scope().Err() == nil }

// fail makes a new error the scope's failure.
func (i Image) fail(method, format string, args ...any) Image {
	i.t.Scope().UpdateErr(method, millrace.Errorf(millrace.ErrModel, format, args...))
	return Image{graph.Tensor{}.In(i.t.Scope())}
}

// with returns an image of the same scope.
func (i Image) with(output tfbridge.Output) Image {
	if output.Op == nil { // after a failure
		return Image{graph.Tensor{}.In(i.t.Scope())}
	}
	return New(i.t.Scope(), output)
}

// op adds an operation on the image and more inputs.
func (i Image) op(opType string, attrs map[string]any, more ...tfbridge.Input) Image {
	if !i.ok() {
		return i
	}
	return i.with(i.t.Scope().Op1(opType, attrs, append([]tfbridge.Input{i.Output()}, more...)...))
}

// constant adds a constant.
func (i Image) constant(value any) tfbridge.Output {
	if !i.ok() {
		return tfbridge.Output{}
	}
	return i.t.Scope().Const(value)
}

// batched applies do to a batch, and to one image as a batch of one.
func (i Image) batched(method string, do func(Image) Image) Image {
	return i.ranked(method, func(i Image, rows int) Image {
		if rows == 1 {
			return do(i)
		}
		one := do(Image{i.t.ExpandDims(0)})
		if !one.ok() {
			return one
		}
		return Image{one.t.Squeeze(0)}
	})
}

// ranked applies do to an image or a batch, with the axis of the rows: 0 for an
// image and 1 for a batch.
func (i Image) ranked(method string, do func(i Image, rows int) Image) Image {
	if !i.ok() {
		return i
	}
	rank := i.t.Shape().NumDimensions()
	if rank != 3 && rank != 4 {
		return i.fail(method, "an image has 3 dimensions and a batch of images 4, this has %d (-1: not known while building)", rank)
	}
	return do(i, rank-3)
}
