package image

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// FlipLeftRight mirrors the image.
func (i Image) FlipLeftRight() Image { return i.reverse(-2) }

// FlipUpDown turns the image upside down.
func (i Image) FlipUpDown() Image { return i.reverse(-3) }

// reverse adds a ReverseV2 along an axis.
func (i Image) reverse(axis int32) Image { return i.op("ReverseV2", nil, i.constant([]int32{axis})) }

// Transpose exchanges rows and columns.
func (i Image) Transpose() Image {
	return i.batched("Transpose", func(b Image) Image { return Image{b.t.Transpose(0, 2, 1, 3)} })
}

// Rot90 rotates the image counter-clockwise by quarter turns.
func (i Image) Rot90(turns int) Image {
	switch (turns%4 + 4) % 4 {
	case 1:
		return i.Transpose().FlipUpDown()
	case 2:
		return i.FlipUpDown().FlipLeftRight()
	case 3:
		return i.Transpose().FlipLeftRight()
	}
	return i
}

// Rectangle is a part of an image in pixels.
type Rectangle struct{ Top, Left, Height, Width int64 }

// Crop cuts out a part, which must lie inside the image. It is
// tf.image.crop_to_bounding_box.
func (i Image) Crop(r Rectangle) Image {
	if i.ok() && (r.Top < 0 || r.Left < 0 || r.Height <= 0 || r.Width <= 0) {
		return i.fail("Crop", "%+v is not a part of an image", r)
	}
	return i.batched("Crop", func(b Image) Image {
		height, width := b.t.Shape().Size(1), b.t.Shape().Size(2)
		if height >= 0 && r.Top+r.Height > height || width >= 0 && r.Left+r.Width > width {
			return b.fail("Crop", "%+v does not lie inside an image of %d by %d", r, height, width)
		}
		return b.op("Slice", nil, b.constant([]int64{0, r.Top, r.Left, 0}), b.constant([]int64{-1, r.Height, r.Width, -1}))
	})
}

// Pad pads the image with zeros to r.Height by r.Width pixels. The image begins r.Top
// rows down and r.Left columns to the right. Its size must be known while building. It
// is tf.image.pad_to_bounding_box.
func (i Image) Pad(r Rectangle) Image {
	return i.batched("Pad", func(b Image) Image {
		height, width := b.t.Shape().Size(1), b.t.Shape().Size(2)
		below, right := r.Height-r.Top-height, r.Width-r.Left-width
		switch {
		case height < 0 || width < 0:
			return b.fail("Pad", "the size of the image is not known while building")
		case r.Top < 0 || r.Left < 0 || below < 0 || right < 0:
			return b.fail("Pad", "an image of %d by %d does not lie inside %+v", height, width, r)
		}
		return b.op("Pad", nil, b.constant([][]int64{{0, 0}, {r.Top, below}, {r.Left, right}, {0, 0}}))
	})
}

// CentralCrop cuts out the middle. fraction is the share of the height and of the width
// that remains, above 0 and up to 1. It is tf.image.central_crop.
func (i Image) CentralCrop(fraction float64) Image {
	if i.ok() && !(fraction > 0 && fraction <= 1) {
		return i.fail("CentralCrop", "the fraction is %v, and must be above 0 and at most 1", fraction)
	}
	if fraction == 1 {
		return i
	}
	return i.batched("CentralCrop", func(b Image) Image {
		height, width := b.t.Shape().Size(1), b.t.Shape().Size(2)
		if height < 0 || width < 0 {
			return b.centralCrop(fraction)
		}
		top, left := margin(height, fraction), margin(width, fraction)
		return b.Crop(Rectangle{Top: top, Left: left, Height: height - 2*top, Width: width - 2*left})
	})
}

// margin returns how many of n pixels are cut off at each end.
func margin(n int64, fraction float64) int64 { return int64((float64(n) - float64(n)*fraction) / 2) }

// centralCrop crops a batch whose size is known only when the graph runs.
func (i Image) centralCrop(fraction float64) Image {
	s := i.t.Scope()
	size := graph.NewTensor(s, graph.Shape(s, i.Output())).Subscript(graph.Between(1, 3))
	real := size.Cast(tfbridge.Double)
	margins := real.Sub(real.Mul(fraction)).Div(2).Cast(tfbridge.Int64)
	zero := []int64{0}
	begin := graph.NewTensor(s, s.Const(zero)).Concat(0, margins, zero)
	rest := graph.NewTensor(s, s.Const([]int64{-1})).Concat(0, size.Sub(margins.Mul(2)), []int64{-1})
	return i.op("Slice", nil, begin.Output(), rest.Output())
}

// Method is how Resize interpolates pixels.
type Method string

// The methods of tf.image.resize.
const (
	Bilinear        Method = "bilinear"
	NearestNeighbor Method = "nearest"
	Bicubic         Method = "bicubic"
	Area            Method = "area"
	Lanczos3        Method = "lanczos3"
	Lanczos5        Method = "lanczos5"
	Gaussian        Method = "gaussian"
	MitchellCubic   Method = "mitchellcubic"
)

// ResizeOptions are the options of Resize. Nil and the zero value mean the defaults.
type ResizeOptions struct {
	Method    Method // default Bilinear
	Antialias bool   // smooth when shrinking; NearestNeighbor and Area ignore it
}

// Resize changes the size of the image, in pixels. The result is float32, and with
// NearestNeighbor of the image's own type. It is tf.image.resize of TensorFlow 2, which
// samples at pixel centres.
func (i Image) Resize(height, width int64, o *ResizeOptions) Image {
	if o == nil {
		o = &ResizeOptions{}
	}
	if i.ok() && (height <= 0 || width <= 0 || height > 1<<30 || width > 1<<30) {
		return i.fail("Resize", "%d by %d is no size", height, width)
	}
	return i.batched("Resize", func(b Image) Image { return b.resize([]int32{int32(height), int32(width)}, *o) })
}

// resize resizes a batch.
func (i Image) resize(size []int32, o ResizeOptions) Image {
	centered := map[string]any{"half_pixel_centers": true}
	switch o.Method {
	case "", Bilinear:
		if !o.Antialias {
			return i.op("ResizeBilinear", centered, i.constant(size))
		}
		return i.spread(size, "triangle", true)
	case NearestNeighbor:
		return i.op("ResizeNearestNeighbor", centered, i.constant(size))
	case Bicubic:
		if !o.Antialias {
			return i.op("ResizeBicubic", centered, i.constant(size))
		}
		return i.spread(size, "keyscubic", true)
	case Area:
		return i.op("ResizeArea", nil, i.constant(size))
	case Lanczos3, Lanczos5, Gaussian, MitchellCubic:
		return i.spread(size, string(o.Method), o.Antialias)
	}
	return i.fail("Resize", "there is no method %q", string(o.Method))
}

// spread adds a ScaleAndTranslate.
func (i Image) spread(size []int32, kernel string, antialias bool) Image {
	s := i.t.Scope()
	old := graph.NewTensor(s, graph.Shape(s, i.Output())).Subscript(graph.Between(1, 3)).Cast(tfbridge.Float)
	scale := graph.NewTensor(s, s.Const([]float32{float32(size[0]), float32(size[1])})).Div(old)
	return i.cast(tfbridge.Float).op("ScaleAndTranslate", map[string]any{"kernel_type": kernel, "antialias": antialias},
		i.constant(size), scale.Output(), i.constant([]float32{0, 0}))
}
