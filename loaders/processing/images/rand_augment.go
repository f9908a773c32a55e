package images

import (
	"fmt"
	"math"

	"millrace/dtype"
	"millrace/graph"
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandAugmentArgs are the arguments of a step of type rand_augment.
type RandAugmentArgs struct {
	decl.Object
	Operations int64   `json:"operations" decl:"default=2,min=1,limit=32" doc:"How many operations are drawn for each image."`
	Magnitude  float64 `json:"magnitude" decl:"default=9,min=0" doc:"How strong the operations are, from 0 to 10."`
}

// Check returns a step that is RandAugment (Cubuk et al., 2019): operations are drawn from a list of 14
// with equal chances, and so is the direction of those that have one. The pair of an example gives
// tf.random.stateless_uniform([operations, 2]): the first number of a row says which
// operation, the second one, if it is below 0.5, that the direction is negative.
func (a *RandAugmentArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("operations", "magnitude") {
		return nil
	}
	if a.Magnitude > 10 {
		c.Report(a.Key("magnitude"), "must be at most 10, got %v", a.Magnitude)
		return nil
	}
	t, ok := c.OneOf("uint8", dtype.Uint8)
	if !ok || !c.Image(t, 3) {
		return nil
	}
	level, n := a.Magnitude/10, a.Operations
	what := fmt.Sprintf("%d operations of magnitude %v", n, a.Magnitude)
	return processing.Fold{What: what, To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		drawn := graph.StatelessRandomUniform(b.Scope, b.Const([]int32{int32(n), 2}), b.Seed)
		x := in[0]
		for i := range n {
			x = augment(b, x, graph.Subscript(b.Scope, drawn, graph.At(i)), level)
		}
		return b.Shaped(x, t.Shape)
	}}
}

// augment carries out the operation that a row of two draws says.
func augment(b *processing.Site, x, drawn tfbridge.Output, level float64) tfbridge.Output {
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	s := b.Scope
	which := graph.NewTensor(s, graph.Subscript(s, drawn, graph.At(0))).Mul(float32(1 + len(augmentations))).Cast(tfbridge.Int32).Output()
	negative := s.Op1("Less", nil, graph.Subscript(s, drawn, graph.At(1)), s.Const(float32(0.5)))
	sign := s.Op1("SelectV2", nil, negative, s.Const(float32(-1)), s.Const(float32(1)))
	for i, do := range augmentations {
		x = b.When(s.Op1("Equal", nil, which, s.Const(int32(1+i))), x, func(x tfbridge.Output) tfbridge.Output {
			return do(&augmentation{s, graph.NewTensor(s, x), level, graph.NewTensor(s, sign)})
		})
	}
	return x
}

// augmentation is an operation on an image of bytes.
type augmentation struct {
	*graph.Scope
	x     graph.Tensor
	level float64      // the strength, 0 to 1
	sign  graph.Tensor // -1 or 1, a float32 scalar
}

// augmentations are the operations, in the order of the draws. The first draw is none of them, and
// leaves the image as it is.
var augmentations = []func(a *augmentation) tfbridge.Output{
	(*augmentation).autoContrast, (*augmentation).equalize, (*augmentation).rotate, (*augmentation).solarize,
	(*augmentation).color, (*augmentation).posterize, (*augmentation).contrast, (*augmentation).brightness, (*augmentation).sharpness,
	func(a *augmentation) tfbridge.Output { return a.shear(1) },
	func(a *augmentation) tfbridge.Output { return a.shear(3) },
	func(a *augmentation) tfbridge.Output { return a.translate(2, 1) },
	func(a *augmentation) tfbridge.Output { return a.translate(5, 0) },
}

// bytes cuts numbers off to bytes.
func (a *augmentation) bytes(x graph.Tensor) tfbridge.Output {
	return graph.NewTensor(a.Scope, a.Op1("ClipByValue", nil, x.Output(), a.Const(float32(0)), a.Const(float32(255)))).Cast(tfbridge.Uint8).Output()
}

// blend returns base + factor * (x - base), where the strength and the direction give the factor.
// base is of float32.
func (a *augmentation) blend(base graph.Tensor) tfbridge.Output {
	factor := a.sign.Mul(float32(0.9 * a.level)).Add(float32(1))
	return a.bytes(base.Add(a.x.Cast(tfbridge.Float).Sub(base).Mul(factor)))
}

// gray returns the grayscale image.
func (a *augmentation) gray() graph.Tensor {
	return graph.NewTensor(a.Scope, image.New(a.Scope, a.x.Output()).RGBToGrayscale().Output())
}

// over reduces the first two axes, which stay with size 1.
func (a *augmentation) over(operation string, x graph.Tensor) graph.Tensor {
	return graph.NewTensor(a.Scope, a.Op1(operation, map[string]any{"keep_dims": true}, x.Output(), a.Const([]int32{0, 1})))
}

func (a *augmentation) autoContrast() tfbridge.Output {
	x := a.x.Cast(tfbridge.Float)
	low, high := a.over("Min", x), a.over("Max", x)
	scale := a.Op1("DivNoNan", nil, a.Const(float32(255)), high.Sub(low).Output())
	stretched := a.bytes(x.Sub(low).Mul(scale))
	return a.Op1("SelectV2", nil, a.Op1("Greater", nil, high.Output(), low.Output()), stretched, a.x.Output())
}

// equalize makes the histogram of each channel flat, as PIL.ImageOps.equalize does.
func (a *augmentation) equalize() tfbridge.Output {
	var channels []tfbridge.Output
	for k := range int64(3) {
		x := graph.NewTensor(a.Scope, graph.Subscript(a.Scope, a.x.Output(), graph.Whole(), graph.Whole(), graph.At(k))).Cast(tfbridge.Int32)
		channels = append(channels, a.equalized(x))
	}
	return graph.Pack(a.Scope, channels, 2)
}

func (a *augmentation) equalized(x graph.Tensor) tfbridge.Output {
	flat := a.Op1("Reshape", nil, x.Output(), a.Const([]int32{-1}))
	empty := a.Op1("Cast", map[string]any{"DstT": tfbridge.Int32}, a.Op1("Fill", nil, a.Const([]int32{0}), a.Const(int32(0))))
	counts := graph.NewTensor(a.Scope, a.Op1("DenseBincount", nil, flat, a.Const(int32(256)), empty))
	most := a.Op1("Max", nil, flat, a.Const([]int32{0}))
	last := a.Op1("GatherV2", nil, counts.Output(), most, a.Const(int32(0)))
	total := graph.NewTensor(a.Scope, a.Op1("Sum", nil, counts.Output(), a.Const([]int32{0})))
	floorDiv := func(x, y tfbridge.Output) tfbridge.Output { return a.Op1("FloorDiv", nil, x, y) }
	step := floorDiv(total.Sub(last).Output(), a.Const(int32(255)))
	before := a.Op1("Cumsum", map[string]any{"exclusive": true}, counts.Output(), a.Const(int32(0)))
	table := floorDiv(graph.NewTensor(a.Scope, before).Add(floorDiv(step, a.Const(int32(2)))).Output(), a.Op1("Maximum", nil, step, a.Const(int32(1))))
	table = a.Op1("ClipByValue", nil, table, a.Const(int32(0)), a.Const(int32(255)))
	flatter := a.Op1("GatherV2", nil, table, x.Output(), a.Const(int32(0)))
	chosen := a.Op1("SelectV2", nil, a.Op1("Equal", nil, step, a.Const(int32(0))), x.Output(), flatter)
	return graph.NewTensor(a.Scope, chosen).Cast(tfbridge.Uint8).Output()
}

func (a *augmentation) solarize() tfbridge.Output {
	bound := a.Const(int32(256 - math.Round(256*a.level)))
	inverse := a.Op1("Sub", nil, a.Const(uint8(255)), a.x.Output())
	return a.Op1("SelectV2", nil, a.Op1("Less", nil, a.x.Cast(tfbridge.Int32).Output(), bound), a.x.Output(), inverse)
}

func (a *augmentation) posterize() tfbridge.Output {
	bits := a.Const(uint8(math.Round(4 * a.level)))
	return a.Op1("LeftShift", nil, a.Op1("RightShift", nil, a.x.Output(), bits), bits)
}

func (a *augmentation) color() tfbridge.Output { return a.blend(a.gray().Cast(tfbridge.Float)) }

func (a *augmentation) contrast() tfbridge.Output {
	gray := a.gray()
	total := a.over("Sum", gray.Cast(tfbridge.Int64)) // integers give one sum in any order
	pixels := graph.NewTensor(a.Scope, a.Op1("Size", map[string]any{"out_type": tfbridge.Int64}, gray.Output()))
	return a.blend(total.Cast(tfbridge.Float).Div(pixels.Cast(tfbridge.Float)))
}

func (a *augmentation) brightness() tfbridge.Output {
	return a.blend(graph.NewTensor(a.Scope, a.Const(float32(0))))
}

// sharpness blends with a smooth image: the weights are 5 for the pixel and 1 for each of its
// neighbours. The pixels at the edges stay.
func (a *augmentation) sharpness() tfbridge.Output {
	x := a.x.Cast(tfbridge.Int32)
	edged := graph.NewTensor(a.Scope, a.Op1("Pad", nil, x.Output(), a.Const([][]int32{{1, 1}, {1, 1}, {0, 0}})))
	size := graph.NewTensor(a.Scope, a.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, x.Output()))
	sum := x.Mul(int32(4))
	for row := range int32(3) {
		for column := range int32(3) {
			sum = sum.Add(a.Op1("Slice", nil, edged.Output(), a.Const([]int32{row, column, 0}), size.Output()))
		}
	}
	smooth := a.Op1("Floor", nil, sum.Cast(tfbridge.Float).Div(float32(13)).Output())
	inside := func(axis int64) tfbridge.Output {
		n := size.Subscript(graph.At(axis))
		at := graph.NewTensor(a.Scope, a.Op1("Range", nil, a.Const(int32(0)), n.Output(), a.Const(int32(1))))
		return a.Op1("LogicalAnd", nil, a.Op1("Greater", nil, at.Output(), a.Const(int32(0))), a.Op1("Less", nil, at.Output(), n.Sub(int32(1)).Output()))
	}
	shaped := func(x tfbridge.Output, shape ...int32) tfbridge.Output {
		return a.Op1("Reshape", nil, x, a.Const(shape))
	}
	inner := a.Op1("LogicalAnd", nil, shaped(inside(0), -1, 1, 1), shaped(inside(1), 1, -1, 1))
	return a.blend(graph.NewTensor(a.Scope, a.Op1("SelectV2", nil, inner, smooth, a.x.Cast(tfbridge.Float).Output())))
}

// unchanged is the projective transform that leaves an image as it is: an output pixel (x, y) is the input
// pixel (t0 x + t1 y + t2, t3 x + t4 y + t5).
var unchanged = [8]float32{1, 0, 0, 0, 1, 0, 0, 0}

// project moves the pixels by a transform. Pixels from outside are 128.
func (a *augmentation) project(t [8]tfbridge.Output) tfbridge.Output {
	size := graph.Subscript(a.Scope, a.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, a.x.Output()), graph.Until(2))
	transform := a.Op1("ExpandDims", nil, graph.Pack(a.Scope, t[:], 0), a.Const(int32(0)))
	moved := a.Op1("ImageProjectiveTransformV3", map[string]any{"interpolation": "NEAREST", "fill_mode": "CONSTANT"},
		a.Op1("ExpandDims", nil, a.x.Output(), a.Const(int32(0))), transform, size, a.Const(float32(128)))
	return a.Op1("Squeeze", map[string]any{"squeeze_dims": []int64{0}}, moved)
}

// transform returns unchanged with other numbers at some places.
func (a *augmentation) transform(numbers map[int]graph.Tensor) (t [8]tfbridge.Output) {
	for i, v := range unchanged {
		t[i] = a.Const(v)
		if x, ok := numbers[i]; ok {
			t[i] = x.Output()
		}
	}
	return t
}

// side returns the size of an axis as float32.
func (a *augmentation) side(axis int64) graph.Tensor {
	return graph.NewTensor(a.Scope, a.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, a.x.Output())).Subscript(graph.At(axis)).Cast(tfbridge.Float)
}

// rotate turns the image around its middle, by 30 degrees at most.
func (a *augmentation) rotate() tfbridge.Output {
	angle := a.level * math.Pi / 6
	cos, sin := graph.NewTensor(a.Scope, a.Const(float32(math.Cos(angle)))), a.sign.Mul(float32(math.Sin(angle)))
	height, width := a.side(0).Sub(float32(1)), a.side(1).Sub(float32(1))
	dx := width.Sub(cos.Mul(width).Sub(sin.Mul(height))).Div(float32(2))
	dy := height.Sub(sin.Mul(width).Add(cos.Mul(height))).Div(float32(2))
	return a.project(a.transform(map[int]graph.Tensor{0: cos, 1: sin.Mul(float32(-1)), 2: dx, 3: sin, 4: cos, 5: dy}))
}

// shear shifts rows or columns, each further than the one before, by 0.3 pixels at most.
func (a *augmentation) shear(number int) tfbridge.Output {
	return a.project(a.transform(map[int]graph.Tensor{number: a.sign.Mul(float32(0.3 * a.level))}))
}

// translate moves the image along an axis, by 0.45 of its size at most.
func (a *augmentation) translate(number int, axis int64) tfbridge.Output {
	return a.project(a.transform(map[int]graph.Tensor{number: a.side(axis).Mul(a.sign.Mul(float32(0.45 * a.level)))}))
}
