package images

import (
	"fmt"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// PadOrCropArgs are the arguments of a step of type pad_or_crop.
type PadOrCropArgs struct {
	decl.Object
	Size []int64 `json:"size" decl:"required,most=2,items.min=1,items.limit=65536" doc:"The size, [height, width]: larger images are cut around their middle, and smaller ones padded with 0 on all sides."`
}

// Check returns a step that is tf.image.resize_with_crop_or_pad.
func (a *PadOrCropArgs) Check(c *processing.Context) processing.Step {
	hw, ok := sizeArg(c, &a.Object, a.Size)
	t, known := imageIn(c)
	if !ok || !known {
		return nil
	}
	to := processing.Tensor{DType: t.DType, Shape: resized(t, hw)}
	return processing.Fold{What: fmt.Sprintf("to %d by %d", hw[0], hw[1]), To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		zero, two := b.Const(int32(0)), b.Const(int32(2))
		var begin, size [2]graph.Tensor
		var pads tfbridge.OutputList
		for i := range begin {
			want, have := b.Tensor(b.Const(hw[i])), b.Dim(in[0], int64(i))
			begin[i] = have.Sub(want).FloorDiv(two).Maximum(zero)
			size[i] = want.Minimum(have)
			before := want.Sub(have).FloorDiv(two).Maximum(zero)
			after := want.Sub(before).Sub(size[i])
			pads = append(pads, b.Op1("Pack", nil, tfbridge.OutputList{before.Output(), after.Output()}))
		}
		pads = append(pads, b.Const([]int32{0, 0}))
		return b.Shaped(b.Op1("Pad", nil, crop(b, in[0], begin, size), b.Op1("Pack", nil, pads)), to.Shape)
	}}
}
