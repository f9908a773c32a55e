package image

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// # Random operations
//
// Each operation takes a seed: a vector of two integers. The same seed gives the
// same result in every process, and the numbers are those of Python's
// tf.image.stateless_random_*. There are two ways to get seeds:
//
//   - [RandomSeed] draws another one in every run, which makes an operation what
//     tf.image.random_* is in Python. A dataset with it cannot be saved, because the
//     numbers come from a hidden state.
//   - dataset.Random gives each element its own, and the dataset can be saved. The
//     example of [Image.RandomFlipLeftRight] shows it.
//
// Operations in a row need different seeds, or their numbers depend on each other.

// RandomSeed adds a RandomUniformInt: a seed that is another one in every run and for
// every element of a dataset. The same number other than 0 gives the same sequence of
// seeds in each session; 0 gives another sequence each time.
func RandomSeed(s *graph.Scope, seed int64) tfbridge.Output {
	return s.Op1("RandomUniformInt", map[string]any{"seed": seed, "seed2": int64(0)},
		s.Const([]int32{2}), s.Const(int64(math.MinInt64)), s.Const(int64(math.MaxInt64)))
}

// RandomFlipLeftRight mirrors the image with probability one half; each image of a
// batch separately. It is tf.image.stateless_random_flip_left_right.
func (i Image) RandomFlipLeftRight(seed tfbridge.Output) Image {
	return i.randomFlip("RandomFlipLeftRight", seed, Image.FlipLeftRight)
}

// RandomFlipUpDown turns the image upside down with probability one half; each image of
// a batch separately. It is tf.image.stateless_random_flip_up_down.
func (i Image) RandomFlipUpDown(seed tfbridge.Output) Image {
	return i.randomFlip("RandomFlipUpDown", seed, Image.FlipUpDown)
}

// randomFlip chooses between the image and a flipped one. As in Python a number
// below one half flips a single image, and one above flips an image of a batch.
func (i Image) randomFlip(method string, seed tfbridge.Output, flip func(Image) Image) Image {
	return i.ranked(method, func(i Image, rows int) Image {
		s := i.t.Scope()
		half := s.Const(float32(0.5))
		if rows == 0 {
			chance := graph.StatelessRandomUniform(s, s.Const([]int64{}), seed)
			return i.with(graph.Select(s, graph.Less(s, chance, half), flip(i).Output(), i.Output()))
		}
		size := graph.NewTensor(s, graph.Shape(s, i.Output())).Subscript(graph.Between(0, 1))
		chances := graph.StatelessRandomUniform(s, size.Output(), seed)
		flips := graph.Reshape(s, graph.Greater(s, chances, half), s.Const([]int64{-1, 1, 1, 1}))
		return i.with(graph.Select(s, flips, flip(i).Output(), i.Output()))
	})
}

// RandomBrightness adds a number from -maxDelta up to maxDelta to every pixel, on a
// scale from 0 to 1. It is tf.image.stateless_random_brightness.
func (i Image) RandomBrightness(maxDelta float32, seed tfbridge.Output) Image {
	if i.ok() && !(maxDelta >= 0) {
		return i.fail("RandomBrightness", "maxDelta is %v, and must not be negative", maxDelta)
	}
	delta := i.uniform(-maxDelta, maxDelta, seed)
	return i.inFloat(func(f Image) Image {
		return Image{f.t.Add(graph.NewTensor(f.t.Scope(), delta).Cast(f.DataType()))}
	})
}

// RandomContrast multiplies each channel's distance from the channel's mean by a
// number from lower up to upper. It is tf.image.stateless_random_contrast.
func (i Image) RandomContrast(lower, upper float32, seed tfbridge.Output) Image {
	return i.inRange("RandomContrast", lower, upper).adjustBy("AdjustContrastv2", i.uniform(lower, upper, seed))
}

// RandomSaturation multiplies the saturation by a number from lower up to upper. The
// image must be RGB. It is tf.image.stateless_random_saturation.
func (i Image) RandomSaturation(lower, upper float32, seed tfbridge.Output) Image {
	const method = "RandomSaturation"
	return i.colored(method).inRange(method, lower, upper).adjustBy("AdjustSaturation", i.uniform(lower, upper, seed))
}

// RandomHue rotates the hue by a number from -maxDelta up to maxDelta, which is 0.5
// at most; 1 is a full turn. The image must be RGB. It is
// tf.image.stateless_random_hue.
func (i Image) RandomHue(maxDelta float32, seed tfbridge.Output) Image {
	const method = "RandomHue"
	if i.ok() && !(maxDelta >= 0 && maxDelta <= 0.5) {
		return i.fail(method, "maxDelta is %v, and must be from 0 to 0.5", maxDelta)
	}
	return i.colored(method).adjustBy("AdjustHue", i.uniform(-maxDelta, maxDelta, seed))
}

// RandomCrop cuts out a part of a size, anywhere in the image. An image that is smaller
// is an error of code InvalidArgument when the graph runs. All images of a batch are
// cut at the same position. It is tf.image.stateless_random_crop.
func (i Image) RandomCrop(height, width int64, seed tfbridge.Output) Image {
	if i.ok() && (height <= 0 || width <= 0 || height > math.MaxInt32 || width > math.MaxInt32) {
		return i.fail("RandomCrop", "%d by %d is no size", height, width)
	}
	return i.ranked("RandomCrop", func(i Image, rows int) Image {
		return i.randomCrop([]int32{int32(height), int32(width)}, rows, seed)
	})
}

// randomCrop cuts out a part of a size. Python draws a number for each dimension,
// including those that are not cropped.
func (i Image) randomCrop(size []int32, rows int, seed tfbridge.Output) Image {
	s := i.t.Scope()
	shape := graph.Cast(s, graph.Shape(s, i.Output()), tfbridge.Int32)
	whole := graph.NewTensor(s, shape)
	wanted := whole.Subscript(graph.Until(int64(rows))).Concat(0, size, whole.Subscript(graph.From(int64(rows)+2)))
	fits := graph.All(s, graph.GreaterEqual(s, shape, wanted.Output()), s.Const([]int32{0}))
	enough := graph.Assert(s, fits, []tfbridge.Output{s.Const("RandomCrop: the image is smaller than the part"), shape, wanted.Output()}, nil)
	s = s.WithControlDependencies(enough)
	numbers := graph.StatelessRandomUniformInt(s, s.Const([]int32{int32(rows) + 3}), seed, s.Const(int32(0)), s.Const(int32(math.MaxInt32)))
	limit := graph.Add(s, graph.Sub(s, shape, wanted.Output()), s.Const(int32(1)))
	cropped := i.with(s.Op1("Slice", nil, i.Output(), s.Op1("FloorMod", nil, numbers, limit), wanted.Output()))
	return cropped.sized(int64(size[0]), int64(size[1]), rows)
}

// sized declares the size of an image.
func (i Image) sized(height, width int64, rows int) Image {
	if !i.ok() {
		return i
	}
	dims := i.t.Shape().Dims()
	dims[rows], dims[rows+1] = height, width
	return i.with(graph.EnsureShape(i.t.Scope(), i.Output(), tfbridge.MakeShape(dims...)))
}

// inRange refuses limits of a random factor.
func (i Image) inRange(method string, lower, upper float32) Image {
	if i.ok() && !(lower >= 0 && upper > lower) {
		return i.fail(method, "the factor is from %v to %v; it must not be negative, and the upper limit must be above the lower", lower, upper)
	}
	return i
}

// uniform returns a random number from low up to but excluding high.
func (i Image) uniform(low, high float32, seed tfbridge.Output) tfbridge.Output {
	if !i.ok() {
		return tfbridge.Output{}
	}
	s := i.t.Scope()
	chance := graph.StatelessRandomUniform(s, s.Const([]int64{}), seed)
	return graph.Add(s, graph.Mul(s, chance, graph.Sub(s, s.Const(high), s.Const(low))), s.Const(low))
}
