package image

import (
	"math"

	"millrace/tfbridge"
)

// limits returns the least and greatest value of a data type as float64, the
// greatest rounded towards zero so that it is one, and whether it is an integer
// type.
func limits(dt tfbridge.DataType) (low, high float64, integer, ok bool) {
	if least, greatest, ok := dt.IntRange(); ok {
		high = float64(greatest)
		if dt.Size() == 8 { // rounded up to a power of two
			high = math.Nextafter(high, 0)
		}
		return float64(least), high, true, true
	}
	switch dt {
	case tfbridge.Half:
		return -65504, 65504, false, true
	case tfbridge.Float, tfbridge.Bfloat16:
		return -math.MaxFloat32, math.MaxFloat32, false, true
	case tfbridge.Double:
		return -math.MaxFloat64, math.MaxFloat64, false, true
	}
	return 0, 0, false, false
}

// ConvertDType changes the data type and scales the values. Integers range from 0 to
// the greatest value of their type, floating-point numbers from 0 to 1. With saturate a
// value that does not fit becomes the nearest one that does; otherwise it wraps around
// or is undefined. It is tf.image.convert_image_dtype.
func (i Image) ConvertDType(dt tfbridge.DataType, saturate bool) Image {
	from := i.DataType()
	if !i.ok() || dt == from {
		return i
	}
	_, highIn, intIn, okIn := limits(from)
	_, highOut, intOut, okOut := limits(dt)
	switch {
	case !okIn || !okOut:
		return i.fail("ConvertDType", "%v cannot become %v: images are of integers or floating-point numbers", from, dt)
	case intIn && intOut:
		return i.rescale(dt, saturate)
	case intIn:
		return i.cast(dt).scaled(1 / highIn)
	case !intOut:
		return i.cast(dt)
	case saturate:
		return i.scaled(highOut + 0.5).SaturateCast(dt)
	}
	return i.scaled(highOut + 0.5).cast(dt)
}

// rescale converts from one integer type to another.
func (i Image) rescale(dt tfbridge.DataType, saturate bool) Image {
	in, out := bits(i.DataType()), bits(dt)
	to := i.cast
	if saturate {
		to = i.SaturateCast
	}
	if in > out {
		smaller := Image{i.t.FloorDiv(uint64(1) << (in - out))}
		if saturate {
			return smaller.SaturateCast(dt)
		}
		return smaller.cast(dt)
	}
	return Image{to(dt).t.Mul(uint64(1) << (out - in))}
}

// bits returns the number of bits of an integer type's positive values.
func bits(dt tfbridge.DataType) int {
	_, high, _, _ := limits(dt)
	return int(math.Round(math.Log2(high + 1)))
}

// SaturateCast adds operations that change the data type. A value that does not fit
// becomes the nearest one that does. It is tf.saturate_cast.
func (i Image) SaturateCast(dt tfbridge.DataType) Image {
	if !i.ok() || dt == i.DataType() {
		return i
	}
	lowIn, highIn, _, okIn := limits(i.DataType())
	lowOut, highOut, intOut, okOut := limits(dt)
	if !okIn || !okOut {
		return i.fail("SaturateCast", "%v cannot become %v: images are of integers or floating-point numbers", i.DataType(), dt)
	}
	if !intOut || lowIn >= lowOut && highIn <= highOut {
		return i.cast(dt)
	}
	// Every limit of up to 32 bits is a float64; so is what the greatest values
	// of 64 bits are rounded to.
	wide := i.t.Cast(tfbridge.Double)
	return Image{wide.Clip(lowOut, highOut).Cast(dt)}
}

// cast adds a Cast.
func (i Image) cast(dt tfbridge.DataType) Image { return Image{i.t.Cast(dt)} }

// scaled multiplies with a factor.
func (i Image) scaled(factor float64) Image { return Image{i.t.Mul(factor)} }

// inFloat applies do to floating-point pixels. It converts other pixels there and
// back.
func (i Image) inFloat(do func(Image) Image) Image {
	if !i.ok() {
		return i
	}
	dt := i.DataType()
	if _, _, integer, _ := limits(dt); !integer && dt != tfbridge.Half && dt != tfbridge.Bfloat16 {
		return do(i)
	}
	return do(i.ConvertDType(tfbridge.Float, false)).ConvertDType(dt, true)
}

// toFloat returns pixels as floating-point numbers without scaling them.
func (i Image) toFloat() Image {
	if dt := i.DataType(); dt == tfbridge.Double || !i.ok() {
		return i
	}
	return i.cast(tfbridge.Float)
}
