package images

import (
	"fmt"

	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomCropArgs are the arguments of a step of type random_crop.
type RandomCropArgs struct {
	decl.Object
	Size []int64 `json:"size" decl:"required,most=2,items.min=1,items.limit=65536" doc:"The size of the part, [height, width]. A smaller image is a bad record."`
}

// Check returns a step that is tf.image.stateless_random_crop.
func (a *RandomCropArgs) Check(c *processing.Context) processing.Step {
	hw, ok := sizeArg(c, &a.Object, a.Size)
	t, known := imageIn(c)
	if !ok || !known || !fits(c, &a.Object, t, hw) {
		return nil
	}
	to := processing.Tensor{DType: t.DType, Shape: resized(t, hw)}
	return processing.Fold{What: fmt.Sprintf("%d by %d", hw[0], hw[1]), To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return b.Shaped(image.New(b.Scope, in[0]).RandomCrop(int64(hw[0]), int64(hw[1]), b.Seed).Output(), to.Shape)
	}}
}
