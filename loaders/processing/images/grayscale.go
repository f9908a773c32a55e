package images

import (
	"slices"

	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// GrayscaleArgs are the arguments of a step of type grayscale, which has none.
type GrayscaleArgs struct{ decl.Object }

// Check returns a step that is tf.image.rgb_to_grayscale.
func (*GrayscaleArgs) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c, 3)
	if !ok {
		return nil
	}
	to := processing.Tensor{DType: t.DType, Shape: slices.Clone(t.Shape)}
	to.Shape[2] = 1
	return processing.Fold{To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		x := image.New(b.Scope, in[0])
		pixels := x.ConvertDType(tfbridge.Float, false).Output()
		shape := b.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, in[0])
		flat := b.Op1("Reshape", nil, pixels, b.Const([]int32{-1, 3}))
		weights := b.Const([][]float32{{0.2989}, {0.5870}, {0.1140}})
		gray := b.Op1("MatMul", nil, flat, weights)
		size := b.Op1("ConcatV2", nil, tfbridge.OutputList{b.Op1("Slice", nil, shape, b.Const([]int32{0}), b.Const([]int32{2})), b.Const([]int32{1})}, b.Const(int32(0)))
		gray = b.Op1("Reshape", nil, gray, size)
		return b.Shaped(image.New(b.Scope, gray).ConvertDType(t.DType, false).Output(), to.Shape)
	}}
}
