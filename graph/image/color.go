package image

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// AdjustBrightness adds delta, of the range from 0 to 1, to every pixel. It is
// tf.image.adjust_brightness.
func (i Image) AdjustBrightness(delta float64) Image {
	return i.inFloat(func(f Image) Image { return Image{f.t.Add(delta)} })
}

// AdjustContrast adds an AdjustContrastv2: each channel's distance from its
// mean times factor.
func (i Image) AdjustContrast(factor float32) Image {
	return i.adjust("AdjustContrastv2", factor)
}

// AdjustHue adds an AdjustHue: the hue turned by delta, from -1 to 1, once
// around being 1. The image is RGB.
func (i Image) AdjustHue(delta float32) Image {
	return i.colored("AdjustHue").adjust("AdjustHue", delta)
}

// AdjustSaturation adds an AdjustSaturation: the saturation times factor. The
// image is RGB.
func (i Image) AdjustSaturation(factor float32) Image {
	return i.colored("AdjustSaturation").adjust("AdjustSaturation", factor)
}

// colored refuses an image that is not RGB.
func (i Image) colored(method string) Image {
	if !i.ok() {
		return i
	}
	shape := i.t.Shape()
	if rank := shape.NumDimensions(); rank > 0 && shape.Size(rank-1) >= 0 && shape.Size(rank-1) != 3 {
		return i.fail(method, "the image has %d channels, and must have 3", shape.Size(rank-1))
	}
	return i
}

// adjust adds an operation of float32 pixels and a number.
func (i Image) adjust(opType string, by float32) Image {
	return i.inFloat(func(f Image) Image {
		return f.cast(tfbridge.Float).op(opType, nil, f.constant(by)).cast(f.DataType())
	})
}

// AdjustGamma replaces every pixel x by gain * x^gamma. It is
// tf.image.adjust_gamma.
func (i Image) AdjustGamma(gamma, gain float64) Image {
	if i.ok() && gamma < 0 {
		return i.fail("AdjustGamma", "gamma is %v, and must not be negative", gamma)
	}
	return i.inFloat(func(f Image) Image { return Image{f.t.Pow(gamma).Mul(gain)} })
}

// RGBToGrayscale makes one channel of three, weighted as the eye sees them. It
// is tf.image.rgb_to_grayscale.
func (i Image) RGBToGrayscale() Image {
	return i.colored("RGBToGrayscale").inFloat(func(f Image) Image {
		return Image{f.t.Mul(f.weights()).Sum(-1).ExpandDims(-1)}
	})
}

// weights are the parts of red, green and blue in grey.
func (i Image) weights() any {
	if i.DataType() == tfbridge.Double {
		return []float64{0.2989, 0.5870, 0.1140}
	}
	return []float32{0.2989, 0.5870, 0.1140}
}

// GrayscaleToRGB makes three channels of one.
func (i Image) GrayscaleToRGB() Image { return Image{i.t.Concat(-1, i.t, i.t)} }

// RGBToHSV adds an RGBToHSV. The pixels are floating-point numbers from 0 to 1.
func (i Image) RGBToHSV() Image { return i.colored("RGBToHSV").op("RGBToHSV", nil) }

// HSVToRGB adds an HSVToRGB. The pixels are floating-point numbers from 0 to 1.
func (i Image) HSVToRGB() Image { return i.colored("HSVToRGB").op("HSVToRGB", nil) }

// Center subtracts from each image its mean. The result is of floating-point
// numbers.
func (i Image) Center() Image {
	f := i.toFloat()
	return Image{f.t.Sub(f.mean())}
}

// PerImageStandardization makes the mean of each image 0 and the variance 1. It
// is tf.image.per_image_standardization: of floating-point numbers, and the
// deviation is taken to be at least 1/sqrt(n), n being the number of values of
// an image.
func (i Image) PerImageStandardization() Image {
	f := i.toFloat()
	if !f.ok() {
		return f
	}
	centered := f.Center()
	n := graph.NewTensor(f.t.Scope(), graph.Shape(f.t.Scope(), f.Output())).Subscript(graph.From(-3)).Prod()
	least := n.Cast(f.DataType()).Rsqrt()
	deviation := Image{centered.t.Square()}.mean().Sqrt().Maximum(least)
	return Image{centered.t.Div(deviation)}
}

// mean returns the mean of each image, with the dimensions left at size 1.
func (i Image) mean() graph.Tensor {
	m := i.t.Mean(-3, -2, -1)
	return m.ExpandDims(-1).ExpandDims(-1).ExpandDims(-1)
}

// Scale spreads the values of each image from low to high. The result is of
// floating-point numbers; an image of one colour becomes low.
func (i Image) Scale(low, high float64) Image {
	f := i.toFloat()
	extreme := func(t graph.Tensor) graph.Tensor { return t.ExpandDims(-1).ExpandDims(-1).ExpandDims(-1) }
	least, most := extreme(f.t.Min(-3, -2, -1)), extreme(f.t.Max(-3, -2, -1))
	spread := Image{f.t.Sub(least)}
	width := Image{most.Sub(least)}
	return Image{spread.op("DivNoNan", nil, width.Output()).t.Mul(high - low).Add(low)}
}
