package images

import (
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// RandomFlipLeftRightArgs are the arguments of a step of type random_flip_left_right, which has none.
type RandomFlipLeftRightArgs struct{ decl.Object }

// Check returns a step that is tf.image.stateless_random_flip_left_right.
func (*RandomFlipLeftRightArgs) Check(c *processing.Context) processing.Step {
	return randomFlip(c, "columns", image.Image.FlipLeftRight)
}
