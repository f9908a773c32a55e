package image

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Padding is the behaviour of a filter at the edges of an image.
type Padding string

// The kinds of padding.
const (
	Same  Padding = "SAME"  // pad with zeros: a stride of 1 keeps the size
	Valid Padding = "VALID" // apply the filter only where it lies inside the image
)

// FilterOptions are the options of filters. Nil and the zero value mean the defaults.
type FilterOptions struct {
	StrideY, StrideX int64   // default 1
	RateY, RateX     int64   // distance between the pixels under a filter; default 1
	Padding          Padding // default Same
}

// attrs returns the options as attributes, by an operation's own names.
func (o *FilterOptions) attrs(strides, rates string) map[string]any {
	if o == nil {
		o = &FilterOptions{}
	}
	one := func(n int64) int64 {
		if n == 0 {
			return 1
		}
		return n
	}
	padding := o.Padding
	if padding == "" {
		padding = Same
	}
	return map[string]any{
		strides:   []int64{1, one(o.StrideY), one(o.StrideX), 1},
		rates:     []int64{1, one(o.RateY), one(o.RateX), 1},
		"padding": string(padding),
	}
}

// Correlate adds a Conv2D. It sums the products of the pixels and a filter of shape
// [height, width, channels in, channels out], which has the image's floating-point
// type. Neural networks call this a convolution.
func (i Image) Correlate(filter tfbridge.Output, o *FilterOptions) Image {
	return i.batched("Correlate", func(b Image) Image { return b.op("Conv2D", o.attrs("strides", "dilations"), filter) })
}

// Convolve is Correlate with the filter flipped in both directions.
func (i Image) Convolve(filter tfbridge.Output, o *FilterOptions) Image {
	if !i.ok() {
		return i
	}
	s := i.t.Scope()
	return i.Correlate(s.Op1("ReverseV2", nil, filter, s.Const([]int32{0, 1})), o)
}

// Dilate adds a Dilation2D. It computes the greatest sum of a pixel and the filter,
// which has shape [height, width, channels].
func (i Image) Dilate(filter tfbridge.Output, o *FilterOptions) Image {
	return i.batched("Dilate", func(b Image) Image { return b.op("Dilation2D", o.attrs("strides", "rates"), filter) })
}

// Erode is the counterpart of Dilate. It computes the least difference of a pixel and
// the filter. It is tf.nn.erosion2d.
func (i Image) Erode(filter tfbridge.Output, o *FilterOptions) Image {
	if !i.ok() {
		return i
	}
	s := i.t.Scope()
	turned := s.Op1("ReverseV2", nil, filter, s.Const([]int32{0, 1}))
	return Image{Image{i.t.Neg()}.Dilate(turned, o).t.Neg()}
}

// SobelY returns the filter for changes from top to bottom, for float32 images of one
// channel.
func SobelY(s *graph.Scope) tfbridge.Output {
	return sobel(s, [][]float32{{-1, -2, -1}, {0, 0, 0}, {1, 2, 1}})
}

// SobelX returns the filter for changes from left to right, for float32 images of one
// channel.
func SobelX(s *graph.Scope) tfbridge.Output {
	return sobel(s, [][]float32{{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}})
}

func sobel(s *graph.Scope, kernel [][]float32) tfbridge.Output {
	return graph.Reshape(s, s.Const(kernel), s.Const([]int64{3, 3, 1, 1}))
}
