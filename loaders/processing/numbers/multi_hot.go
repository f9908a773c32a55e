package numbers

import (
	"slices"

	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// MultiHotArgs are the arguments of a step of type multi_hot.
type MultiHotArgs struct{ OneHotArgs }

// Check returns a step that replaces the last axis, a set of classes, by an axis of all
// classes.
func (a *MultiHotArgs) Check(c *processing.Context) processing.Step {
	h, ok := a.values(c)
	t, known := classes(c)
	if !ok || !known || !c.Ranked(t, 1, -1) {
		return nil
	}
	rank := len(t.Shape)
	shape := append(slices.Clone(t.Shape[:rank-1]), int64(h.depth))
	return processing.Batched{What: h.String(), To: processing.Tensor{DType: h.dtype, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		found := b.Op1("OneHot", nil, in[0], b.Const(h.depth), b.Const(true), b.Const(false))
		any := b.Op1("Any", nil, found, b.Const([]int32{int32(lead + rank - 1)}))
		return b.Op1("SelectV2", nil, any, b.Scalar(h.on, h.dtype), b.Scalar(h.off, h.dtype))
	}}
}
