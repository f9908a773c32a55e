package images

import (
	"millrace/graph"
	"millrace/graph/image"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// randomFlip returns a step that flips an axis of an image with probability one half.
func randomFlip(c *processing.Context, axis string, flip func(image.Image) image.Image) processing.Step {
	t, ok := imageIn(c)
	if !ok {
		return nil
	}
	pixels := func(m *processing.Images) bool {
		if !processing.Resized(m) {
			return false
		}
		m.Augment = append(m.Augment, axis)
		return true
	}
	return processing.Fold{To: t.Tensor, Pixels: pixels, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		chance := graph.StatelessRandomUniform(b.Scope, b.Const([]int64{}), b.Seed)
		flips := b.Op1("Less", nil, chance, b.Const(float32(0.5)))
		return b.Shaped(b.When(flips, in[0], func(x tfbridge.Output) tfbridge.Output { return flip(image.New(b.Scope, x)).Output() }), t.Shape)
	}}
}
