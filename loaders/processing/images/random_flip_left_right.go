package images

import (
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomFlipLeftRightArgs are the arguments of a step of type random_flip_left_right, which has none.
type RandomFlipLeftRightArgs struct{ decl.Object }

// Check returns a step that is tf.image.stateless_random_flip_left_right.
func (*RandomFlipLeftRightArgs) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c)
	if !ok {
		return nil
	}
	return processing.Fold{To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return image.New(b.Scope, in[0]).RandomFlipLeftRight(b.Seed).Output()
	}}
}
