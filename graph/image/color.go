package image

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// AdjustBrightness adds delta, on a scale from 0 to 1, to every pixel. It is
// tf.image.adjust_brightness.
func (i Image) AdjustBrightness(delta float64) Image {
	return i.inFloat(func(f Image) Image { return Image{f.t.Add(delta)} })
}

// AdjustContrast adds an AdjustContrastv2. It multiplies each channel's distance from
// the channel's mean by factor.
func (i Image) AdjustContrast(factor float32) Image {
	return i.adjust("AdjustContrastv2", factor)
}

// AdjustHue adds an AdjustHue. It rotates the hue by delta, from -1 to 1; 1 is a full
// turn. The image must be RGB.
func (i Image) AdjustHue(delta float32) Image {
	return i.colored("AdjustHue").adjust("AdjustHue", delta)
}

// AdjustSaturation adds an AdjustSaturation. It multiplies the saturation by factor.
// The image must be RGB.
func (i Image) AdjustSaturation(factor float32) Image {
	return i.colored("AdjustSaturation").adjust("AdjustSaturation", factor)
}

// colored makes the scope fail for an image that is not RGB.
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
	return i.adjustBy(opType, i.constant(by))
}

// adjustBy adds an operation of float32 pixels and a number of the graph.
func (i Image) adjustBy(opType string, by tfbridge.Output) Image {
	return i.inFloat(func(f Image) Image {
		return f.cast(tfbridge.Float).op(opType, nil, by).cast(f.DataType())
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

// RGBToGrayscale converts three channels to one, weighted by how bright they appear to
// the eye. It is tf.image.rgb_to_grayscale.
func (i Image) RGBToGrayscale() Image {
	return i.colored("RGBToGrayscale").inFloat(func(f Image) Image {
		return Image{f.t.Mul(f.weights()).Sum(-1).ExpandDims(-1)}
	})
}

// weights are the weights of red, green and blue.
func (i Image) weights() any {
	if i.DataType() == tfbridge.Double {
		return []float64{0.2989, 0.5870, 0.1140}
	}
	return []float32{0.2989, 0.5870, 0.1140}
}

// GrayscaleToRGB repeats one channel three times.
func (i Image) GrayscaleToRGB() Image { return Image{i.t.Concat(-1, i.t, i.t)} }

// RGBToHSV adds an RGBToHSV. The pixels are floating-point numbers from 0 to 1.
func (i Image) RGBToHSV() Image { return i.colored("RGBToHSV").op("RGBToHSV", nil) }

// HSVToRGB adds an HSVToRGB. The pixels are floating-point numbers from 0 to 1.
func (i Image) HSVToRGB() Image { return i.colored("HSVToRGB").op("HSVToRGB", nil) }

// Center subtracts its mean from each image. The result is floating point.
func (i Image) Center() Image {
	f := i.toFloat()
	return Image{f.t.Sub(f.mean())}
}

// PerImageStandardization makes the mean of each image 0 and its variance 1. The
// result is floating point. The standard deviation counts as at least 1/sqrt(n) for an
// image of n values. It is tf.image.per_image_standardization.
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

// mean returns the mean of each image, and keeps the dimensions with size 1.
func (i Image) mean() graph.Tensor {
	m := i.t.Mean(-3, -2, -1)
	return m.ExpandDims(-1).ExpandDims(-1).ExpandDims(-1)
}

// Scale maps the values of each image linearly to the range from low to high. The
// result is floating point. An image of one colour becomes low.
func (i Image) Scale(low, high float64) Image {
	f := i.toFloat()
	extreme := func(t graph.Tensor) graph.Tensor { return t.ExpandDims(-1).ExpandDims(-1).ExpandDims(-1) }
	least, most := extreme(f.t.Min(-3, -2, -1)), extreme(f.t.Max(-3, -2, -1))
	spread := Image{f.t.Sub(least)}
	width := Image{most.Sub(least)}
	return Image{spread.op("DivNoNan", nil, width.Output()).t.Mul(high - low).Add(low)}
}
