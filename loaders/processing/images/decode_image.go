package images

import (
	"fmt"
	"slices"

	"millrace/dtype"
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
	to := processing.Tensor{DType: d, Shape: []int64{-1, -1, channels}}
	return processing.Fold{What: fmt.Sprintf("%d channels of %s", a.Channels, d), To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		spec := &bytecheck.Spec{Op: "DecodeImage", DType: d, Channels: a.Channels, First: true, Limit: b.DecodeLimit}
		image := b.Op1("DecodeImage", map[string]any{"channels": a.Channels, "dtype": d, "expand_animations": false}, b.Checked("decode_image", in[0], spec))
		return b.Shaped(image, to.Shape)
	}}
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
