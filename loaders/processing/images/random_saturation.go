package images

import (
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomSaturationArgs are the arguments of a step of type random_saturation.
type RandomSaturationArgs struct {
	decl.Object
	FactorArgs
}

// Check returns a step that is tf.image.stateless_random_saturation.
func (a *RandomSaturationArgs) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c, 3)
	if a.At == nil || !a.valid(c, &a.Object) || !ok {
		return nil
	}
	return processing.Fold{What: a.String(), To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return image.New(b.Scope, in[0]).RandomSaturation(float32(a.Lower), float32(a.Upper), b.Seed).Output()
	}}
}
