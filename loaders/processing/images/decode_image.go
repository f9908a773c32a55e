package images

import (
	"fmt"
	"slices"

	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/base/bytecheck"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// DecodeImageArgs are the arguments of a step of type decode_image.
type DecodeImageArgs struct {
	decl.Object
	Channels int64  `json:"channels" decl:"default=3,min=0,max=4" doc:"The channels of the result: 1 grey, 3 RGB, 4 RGBA, and 0 as many as the image has."`
	DType    string `json:"dtype" decl:"default=uint8" doc:"The data type of the result: uint8, uint16, or float32 from 0 to 1."`
}

// Check returns a step that decodes a JPEG, PNG, GIF or BMP. Of an animation it takes the first
// frame.
func (a *DecodeImageArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("channels", "dtype") {
		return nil
	}
	if a.Channels == 2 {
		c.Report(a.Key("channels"), "must be 0, 1, 3 or 4, got 2")
		return nil
	}
	d, ok := c.DType(a.Key("dtype"), a.DType, dtype.Uint8, dtype.Uint16, dtype.Float)
	t, known := c.Strings()
	if !ok || !known || !c.Ranked(t, 0, 0) {
		return nil
	}
	channels := a.Channels
	if channels == 0 {
		channels = -1
	}
	return newDecoder(a.Channels, processing.Tensor{DType: d, Shape: []int64{-1, -1, channels}})
}

// newDecoder returns the step. channels is 0 for as many as the image has.
func newDecoder(channels int64, to processing.Tensor) processing.Step {
	checked := func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Checked("decode_image", x, &bytecheck.Spec{Op: "DecodeImage", DType: to.DType, Channels: channels, First: true, Limit: b.DecodeLimit})
	}
	whole := func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("DecodeImage", map[string]any{"channels": channels, "dtype": to.DType, "expand_animations": false}, x)
	}
	fold := processing.Fold{What: fmt.Sprintf("%d channels of %s", channels, to.DType), To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return b.Shaped(whole(b, checked(b, in[0])), to.Shape)
	}}
	if to.DType != dtype.Uint8 || channels == 4 {
		return fold // DecodeAndCropJpeg makes nothing else
	}
	fold.Pixels = func(m *processing.Images) bool {
		m.Channels = channels
		return channels > 0
	}
	return processing.Decoder{Fold: fold, Checked: checked, DecodePart: func(b *processing.Site, x tfbridge.Output, cut func(tfbridge.Output) (begin, size tfbridge.Output)) tfbridge.Output {
		return b.Shaped(decodePart(b, x, channels, whole, cut), to.Shape)
	}}
}

// margin is how many pixels around a part are decoded with it. JPEG stores colours at half the
// resolution, so a pixel at an edge has its colour from pixels on both sides of the edge.
const margin = 4

// decodePart decodes a part of an image: of a JPEG no more than the part, of other formats the image.
// A JPEG without its end is decoded as a whole, so that it is refused wherever the part is.
//
// Switch and Merge choose. If would need the optimizer of TensorFlow in a function of tf.data.
func decodePart(b *processing.Site, x tfbridge.Output, channels int64, whole func(*processing.Site, tfbridge.Output) tfbridge.Output, cut func(shape tfbridge.Output) (begin, size tfbridge.Output)) tfbridge.Output {
	end := b.Op1("StringJoin", nil, tfbridge.OutputList{b.Const("  "), x}) // never shorter than what is looked at
	isJPEG := b.Op1("LogicalAnd", nil,
		b.Op1("Equal", nil, b.Op1("Substr", nil, x, b.Const(int32(0)), b.Const(int32(3))), b.Const("\xff\xd8\xff")),
		b.Op1("Equal", nil, b.Op1("Substr", nil, end, b.Const(int32(-2)), b.Const(int32(2))), b.Const("\xff\xd9")))
	ways := b.Op("Switch", nil, x, isJPEG)
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	image := whole(b, ways[0])
	begin, size := cut(b.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, image))
	other := b.Op1("Slice", nil, image, begin, size)

	shape := b.Op1("ExtractJpegShape", map[string]any{"output_type": tfbridge.Int32}, ways[1])
	begin, size = cut(shape)
	part := cropJPEG(b, ways[1], channels, shape, begin, size)
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	return b.Op("Merge", nil, tfbridge.OutputList{other, part})[0]
}

// cropJPEG decodes the part of a JPEG that begins at a pixel and has a size.
func cropJPEG(b *processing.Site, x tfbridge.Output, channels int64, shape, begin, size tfbridge.Output) tfbridge.Output {
	two := func(v tfbridge.Output) graph.Tensor { return b.Tensor(graph.Subscript(b.Scope, v, graph.Until(2))) }
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	from, some := two(begin), two(size)
	outer := from.Sub(int32(margin)).Maximum(int32(0))
	end := from.Add(some).Add(int32(margin)).Minimum(two(shape))
	window := b.Op1("ConcatV2", nil, tfbridge.OutputList{outer.Output(), end.Sub(outer).Output()}, b.Const(int32(0)))
	image := b.Op1("DecodeAndCropJpeg", map[string]any{"channels": channels}, x, window)
	return b.Op1("Slice", nil, image, withChannels(b, from.Sub(outer).Output(), 0), withChannels(b, some.Output(), -1))
}

// sizeArg reads a size, [height, width].
func sizeArg(c *processing.Context, o *decl.Object, size []int64) (hw [2]int32, ok bool) {
	if o.At == nil || o.Bad("size") {
		return hw, false
	}
	if len(size) != 2 {
		c.Report(o.Key("size"), "must be [height, width], got %d numbers", len(size))
		return hw, false
	}
	return [2]int32{int32(size[0]), int32(size[1])}, true
}

// imageIn returns the image that a step reads.
func imageIn(c *processing.Context, channels ...int64) (processing.Input, bool) {
	t, ok := c.Numbers()
	return t, ok && c.Image(t, channels...)
}

// resized returns the shape of an image of another size.
func resized(t processing.Input, hw [2]int32) []int64 {
	shape := slices.Clone(t.Shape)
	shape[0], shape[1] = int64(hw[0]), int64(hw[1])
	return shape
}

// fits reports an image that is known to be smaller than a size, and returns false.
func fits(c *processing.Context, o *decl.Object, t processing.Input, hw [2]int32) bool {
	for i, n := range t.Shape[:2] {
		if n >= 0 && n < int64(hw[i]) {
			c.Report(o.Key("size"), "%d by %d is larger than the image %s of shape %s", hw[0], hw[1], decl.Quote(t.Name), processing.FormatShape(t.Shape)).Hint = "pad_or_crop makes smaller images larger"
			return false
		}
	}
	return true
}
