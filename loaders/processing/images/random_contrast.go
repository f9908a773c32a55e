package images

import (
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomContrastArgs are the arguments of a step of type random_contrast.
type RandomContrastArgs struct {
	decl.Object
	FactorArgs
}

// Check returns a step that is tf.image.stateless_random_contrast.
func (a *RandomContrastArgs) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c)
	if a.At == nil || !a.valid(c, &a.Object) || !ok {
		return nil
	}
	return processing.Fold{What: a.String(), To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return image.New(b.Scope, in[0]).RandomContrast(float32(a.Lower), float32(a.Upper), b.Seed).Output()
	}}
}
