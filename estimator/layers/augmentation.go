package layers

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// Random augmentation changes images of shape [batch, height, width, channels] in mode
// Train, each image by different random numbers, which depend on the model's seed and
// the step. In other modes images stay as they are. Keras draws other numbers.

// Flip says in which directions RandomFlip may flip.
type Flip string

// The directions, as in Keras.
const (
	FlipBoth       Flip = ""
	FlipHorizontal Flip = "horizontal"
	FlipVertical   Flip = "vertical"
)

// RandomFlip is keras.layers.RandomFlip: it flips each image, or not, with even chances.
func RandomFlip(n *Net, x tfbridge.Output, direction Flip) tfbridge.Output {
	random := n.noise("random_flip", 1, false)
	if random == nil {
		return x
	}
	for i, axis := range []int32{2, 1} {
		if i == 0 && direction == FlipVertical || i == 1 && direction == FlipHorizontal {
			continue
		}
		flipped := n.f("ReverseV2", nil, x, n.Const([]int32{axis}))
		x = graph.Select(n.Scope, graph.Less(n.Scope, n.each(n.noise("random_flip", 1, false), x, 0, 1), n.Const(float32(0.5))), flipped, x)
	}
	return x
}

// RandomBrightness is keras.layers.RandomBrightness for values from 0 to 1: it adds a
// number between -factor and factor to each image, and clips it.
func RandomBrightness(n *Net, x tfbridge.Output, factor float64) tfbridge.Output {
	random := n.noise("random_brightness", factor, false)
	if random == nil {
		return x
	}
	bright := graph.Add(n.Scope, x, n.each(random, x, -factor, factor))
	return n.f("ClipByValue", nil, bright, n.Const(float32(0)), n.Const(float32(1)))
}

// RandomContrast is keras.layers.RandomContrast for values from 0 to 1: it scales the
// difference of each channel from its mean by a number between 1 - factor and 1 + factor,
// and clips it.
func RandomContrast(n *Net, x tfbridge.Output, factor float64) tfbridge.Output {
	random := n.noise("random_contrast", factor, false)
	if random == nil {
		return x
	}
	s := n.Scope
	mean := n.f("Mean", map[string]any{"keep_dims": true}, x, s.Const([]int32{1, 2}))
	scaled := graph.Add(s, graph.Mul(s, graph.Sub(s, x, mean), n.each(random, x, 1-factor, 1+factor)), mean)
	return n.f("ClipByValue", nil, scaled, n.Const(float32(0)), n.Const(float32(1)))
}

// RandomRotation is keras.layers.RandomRotation: it turns each image around its center
// by up to factor of a full turn. Pixels outside of the image are reflections of those
// inside.
func RandomRotation(n *Net, x tfbridge.Output, factor float64) tfbridge.Output {
	random := n.noise("random_rotation", factor, false)
	if random == nil {
		return x
	}
	s := n.Scope
	angle := graph.Reshape(s, n.each(random, x, -2*math.Pi*factor, 2*math.Pi*factor), s.Const([]int32{-1}))
	cos, sin := n.f("Cos", nil, angle), n.f("Sin", nil, angle)
	height, width := n.side(x, 1), n.side(x, 2)
	half := func(a, b, side, other tfbridge.Output, sign float32) tfbridge.Output { // the offset that keeps the center
		turned := graph.Add(s, graph.Mul(s, a, side), graph.Mul(s, graph.Mul(s, b, s.Const(sign)), other))
		return graph.Mul(s, graph.Sub(s, side, turned), s.Const(float32(0.5)))
	}
	return n.project(x, [6]tfbridge.Output{
		cos, n.f("Neg", nil, sin), half(cos, sin, width, height, -1), sin, cos, half(cos, sin, height, width, 1),
	})
}

// RandomTranslation is keras.layers.RandomTranslation: it moves each image by up to
// height and width, as parts of its sides. Pixels outside of the image are reflections
// of those inside.
func RandomTranslation(n *Net, x tfbridge.Output, height, width float64) tfbridge.Output {
	random := n.noise("random_translation", math.Max(height, width), false)
	if random == nil {
		return x
	}
	s := n.Scope
	flat := func(factor float64, axis int) tfbridge.Output {
		moved := n.each(n.noise("random_translation", 1, false), x, -factor, factor)
		return graph.Mul(s, graph.Reshape(s, moved, s.Const([]int32{-1})), n.side(x, axis))
	}
	dy, dx := flat(height, 1), flat(width, 2)
	zero, one := graph.ZerosLike(s, dy), n.f("OnesLike", nil, dy)
	return n.project(x, [6]tfbridge.Output{one, zero, n.f("Neg", nil, dx), zero, one, n.f("Neg", nil, dy)})
}

// RandomZoom is keras.layers.RandomZoom with equal sides: it makes each image up to
// factor smaller or larger around its center. Pixels outside of the image are
// reflections of those inside.
func RandomZoom(n *Net, x tfbridge.Output, factor float64) tfbridge.Output {
	random := n.noise("random_zoom", factor, false)
	if random == nil {
		return x
	}
	s := n.Scope
	zoom := graph.Reshape(s, n.each(random, x, 1-factor, 1+factor), s.Const([]int32{-1}))
	zero := graph.ZerosLike(s, zoom)
	offset := func(side tfbridge.Output) tfbridge.Output {
		return graph.Mul(s, graph.Mul(s, graph.Sub(s, s.Const(float32(1)), zoom), side), s.Const(float32(0.5)))
	}
	return n.project(x, [6]tfbridge.Output{zoom, zero, offset(n.side(x, 2)), zero, zoom, offset(n.side(x, 1))})
}

// RandomCrop is keras.layers.RandomCrop: in mode Train a part of height and width from
// a random place, the same in all images of a batch, in other modes the middle part. In
// those modes Keras resizes instead.
func RandomCrop(n *Net, x tfbridge.Output, height, width int64) tfbridge.Output {
	random := n.noise("random_crop", 1, false)
	s := n.Scope
	shape := graph.Shape(s, x)
	begin := func(axis, size int64, i int64) tfbridge.Output {
		room := graph.Sub(s, graph.Subscript(s, shape, graph.At(axis)), s.Const(size))
		if random == nil {
			return graph.FloorDiv(s, room, s.Const(int64(2)))
		}
		share := graph.Subscript(s, random("StatelessRandomUniform", s.Const([]int32{2})), graph.At(i))
		places := graph.Cast(s, graph.Add(s, room, s.Const(int64(1))), tfbridge.Float)
		return graph.Cast(s, n.f("Floor", nil, graph.Mul(s, share, places)), tfbridge.Int64)
	}
	zero := s.Const(int64(0))
	from := graph.Pack(s, []tfbridge.Output{zero, begin(1, height, 0), begin(2, width, 1), zero}, 0)
	return graph.Slice(s, x, from, s.Const([]int64{-1, height, width, -1}))
}

// each returns a number for each image of a batch, of shape [batch, 1, 1, 1].
func (n *Net) each(random func(op string, shape tfbridge.Output) tfbridge.Output, x tfbridge.Output, low, high float64) tfbridge.Output {
	if random == nil || n.Err() != nil {
		return tfbridge.Output{}
	}
	s := n.Scope
	batch := graph.Subscript(s, graph.Shape(s, x), graph.Between(0, 1))
	shape := graph.ConcatV2(s, []tfbridge.Output{batch, s.Const([]int64{1, 1, 1})}, 0)
	uniform := random("StatelessRandomUniform", shape)
	return graph.Add(s, graph.Mul(s, uniform, s.Const(float32(high-low))), s.Const(float32(low)))
}

// side returns the size of a side less one, as a float: the distance of its first and its
// last pixel.
func (n *Net) side(x tfbridge.Output, axis int) tfbridge.Output {
	size := graph.Subscript(n.Scope, graph.Shape(n.Scope, x), graph.At(int64(axis)))
	return graph.Cast(n.Scope, graph.Sub(n.Scope, size, n.Const(int64(1))), tfbridge.Float)
}

// project takes the pixel at (x, y) of each image from (a x + b y + c, d x + e y + f).
func (n *Net) project(x tfbridge.Output, to [6]tfbridge.Output) tfbridge.Output {
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	s := n.Scope
	zero := graph.ZerosLike(s, to[0])
	transforms := graph.Pack(s, append(to[:], zero, zero), 1)
	sides := graph.Cast(s, graph.Subscript(s, graph.Shape(s, x), graph.Between(1, 3)), tfbridge.Int32)
	y := n.f("ImageProjectiveTransformV3", map[string]any{"interpolation": "BILINEAR", "fill_mode": "REFLECT"}, x, transforms, sides, s.Const(float32(0)))
	n.UpdateErr("layer", n.Graph().SetShape(y, graph.SpecOf(x).Shape))
	return y
}
