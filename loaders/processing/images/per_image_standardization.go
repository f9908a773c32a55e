package images

import (
	"millrace/dtype"
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// StandardizationArgs are the arguments of a step of type per_image_standardization, which
// has none.
type StandardizationArgs struct{ decl.Object }

// Check returns a step that makes the mean of an image 0 and its variance 1.
func (*StandardizationArgs) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c)
	if !ok {
		return nil
	}
	return processing.Fold{To: processing.Tensor{DType: dtype.Float, Shape: t.Shape}, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return image.New(b.Scope, b.Tensor(in[0]).Cast(tfbridge.Float).Output()).PerImageStandardization().Output()
	}}
}
