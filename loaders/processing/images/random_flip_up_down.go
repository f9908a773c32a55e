package images

import (
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// RandomFlipUpDownArgs are the arguments of a step of type random_flip_up_down, which has none.
type RandomFlipUpDownArgs struct{ decl.Object }

// Check returns a step that is tf.image.stateless_random_flip_up_down.
func (*RandomFlipUpDownArgs) Check(c *processing.Context) processing.Step {
	return randomFlip(c, "rows", image.Image.FlipUpDown)
}
