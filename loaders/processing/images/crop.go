package images

import (
	"fmt"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// CenterCropArgs are the arguments of a step of type center_crop.
type CenterCropArgs struct {
	decl.Object
	Size []int64 `json:"size" decl:"required,most=2,items.min=1,items.limit=65536" doc:"The size of the part, [height, width]. A smaller image is a bad record."`
}

// Check returns a step that cuts the middle out of an image.
func (a *CenterCropArgs) Check(c *processing.Context) processing.Step {
	hw, ok := sizeArg(c, &a.Object, a.Size)
	t, known := imageIn(c)
	if !ok || !known || !fits(c, &a.Object, t, hw) {
		return nil
	}
	to := processing.Tensor{DType: t.DType, Shape: resized(t, hw)}
	pixels := func(m *processing.Images) bool { return window(m, hw) }
	return processing.Part{What: fmt.Sprintf("%d by %d", hw[0], hw[1]), To: to, Pixels: pixels, Cut: func(b *processing.Site, shape tfbridge.Output) (begin, size tfbridge.Output) {
		if b.Err() != nil {
			return begin, size
		}
		wanted := b.Const([]int32{hw[0], hw[1]})
		rest := b.Op1("Sub", nil, graph.Subscript(b.Scope, shape, graph.Until(2)), wanted)
		half := b.Op1("FloorDiv", nil, rest, b.Const(int32(2)))
		return withChannels(b, half, 0), withChannels(b, wanted, -1)
	}}
}

// withChannels appends the number for the axis of channels to the ones of height and width, an int32 vector.
func withChannels(b *processing.Site, hw tfbridge.Output, channels int32) tfbridge.Output {
	return b.Op1("ConcatV2", nil, tfbridge.OutputList{hw, b.Const([]int32{channels})}, b.Const(int32(0)))
}

// window adds the cut of the middle of a resized image, which is at least as large. It takes other
// pixels where the image is mirrored before.
func window(m *processing.Images, hw [2]int32) bool {
	if !processing.Resized(m) || len(m.Augment) > 0 {
		return false
	}
	for i, n := range hw {
		m.Window[i] += (m.Window[2+i] - int64(n)) / 2
		m.Window[2+i] = int64(n)
	}
	return true
}

// crop cuts a part out of an image.
func crop(b *processing.Site, x tfbridge.Output, begin, size [2]graph.Tensor) tfbridge.Output {
	from := b.Op1("Pack", nil, tfbridge.OutputList{begin[0].Output(), begin[1].Output(), b.Const(int32(0))})
	some := b.Op1("Pack", nil, tfbridge.OutputList{size[0].Output(), size[1].Output(), b.Const(int32(-1))})
	return b.Op1("Slice", nil, x, from, some)
}
