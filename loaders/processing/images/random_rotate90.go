package images

import (
	"millrace/graph"
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomRotate90Args are the arguments of a step of type random_rotate90, which has none.
type RandomRotate90Args struct{ decl.Object }

// Check returns a step that is tf.image.rot90 by 0 to 3 quarter turns:
// tf.random.stateless_uniform([], seed, 0, 4, tf.int32).
func (*RandomRotate90Args) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c)
	if !ok {
		return nil
	}
	to := t.Tensor
	if t.Shape[0] != t.Shape[1] {
		to.Shape = []int64{-1, -1, t.Shape[2]}
	}
	return processing.Fold{To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		turns := graph.StatelessRandomUniformInt(b.Scope, b.Const([]int32{}), b.Seed, b.Const(int32(0)), b.Const(int32(4)))
		x := in[0]
		for k := 1; k < 4; k++ {
			x = b.When(b.Op1("Equal", nil, turns, b.Const(int32(k))), x, func(x tfbridge.Output) tfbridge.Output {
				return image.New(b.Scope, x).Rot90(k).Output()
			})
		}
		return b.Shaped(x, to.Shape)
	}}
}
