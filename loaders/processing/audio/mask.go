package audio

import (
	"fmt"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// MaskArgs are the arguments of steps that mask parts of a spectrogram.
type MaskArgs struct {
	Masks   int64 `json:"masks" decl:"required,min=1,limit=1000" doc:"How many parts are set to 0."`
	Longest int64 `json:"longest" decl:"required,min=0,limit=2147483646" doc:"The greatest size of a part, which is drawn from 0 on."`
}

// step returns a step that masks along an axis, counted from the first one.
func (a *MaskArgs) step(c *processing.Context, o *decl.Object, axis int) processing.Step {
	t, ok := c.Floats()
	if o.At == nil || o.Bad("masks", "longest") || !ok || !c.Ranked(t, 1, -1) {
		return nil
	}
	if axis < 0 {
		axis += len(t.Shape)
	}
	rank := len(t.Shape)
	return processing.Fold{What: fmt.Sprintf("%d of up to %d", a.Masks, a.Longest), To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return a.mask(b, in[0], axis, rank)
	}}
}

// mask draws sizes and places from one matrix of stateless uniform numbers, [masks, 2]: a size is
// floor(u * (longest + 1)), at most as large as the axis, and a place floor(u * (axis - size + 1)).
func (a *MaskArgs) mask(b *processing.Site, x tfbridge.Output, axis, rank int) tfbridge.Output {
	drawn := b.Tensor(graph.StatelessRandomUniform(b.Scope, b.Const([]int32{int32(a.Masks), 2}), b.Seed))
	column := func(i int64) graph.Tensor { return drawn.Subscript(graph.Whole(), graph.At(i)) }
	n := b.Dim(x, int64(axis))
	size := column(0).Mul(b.Const(float32(a.Longest + 1))).Floor().Cast(tfbridge.Int32).Minimum(n)
	room := n.Sub(size).Add(b.Const(int32(1)))
	begin := column(1).Mul(room.Cast(tfbridge.Float)).Floor().Cast(tfbridge.Int32).ExpandDims(1)
	positions := b.Tensor(b.Op1("Range", nil, b.Const(int32(0)), n.Output(), b.Const(int32(1)))).ExpandDims(0)
	inside := positions.GreaterEqual(begin).LogicalAnd(positions.Less(begin.Add(size.ExpandDims(1)))).Any(0)
	shape := make([]int32, rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[axis] = -1
	masked := b.Op1("Reshape", nil, inside.Output(), b.Const(shape))
	return b.Op1("SelectV2", nil, masked, b.Scalar(0.0, x.DataType()), x)
}
