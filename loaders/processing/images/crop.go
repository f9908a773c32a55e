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
	return processing.Fold{What: fmt.Sprintf("%d by %d", hw[0], hw[1]), To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		var begin [2]graph.Tensor
		for i := range begin {
			begin[i] = b.Dim(in[0], int64(i)).Sub(b.Const(hw[i])).FloorDiv(b.Const(int32(2)))
		}
		return b.Shaped(crop(b, in[0], begin, [2]graph.Tensor{b.Tensor(b.Const(hw[0])), b.Tensor(b.Const(hw[1]))}), to.Shape)
	}}
}

// crop cuts a part out of an image.
func crop(b *processing.Site, x tfbridge.Output, begin, size [2]graph.Tensor) tfbridge.Output {
	from := b.Op1("Pack", nil, tfbridge.OutputList{begin[0].Output(), begin[1].Output(), b.Const(int32(0))})
	some := b.Op1("Pack", nil, tfbridge.OutputList{size[0].Output(), size[1].Output(), b.Const(int32(-1))})
	return b.Op1("Slice", nil, x, from, some)
}
