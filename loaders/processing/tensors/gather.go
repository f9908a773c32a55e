package tensors

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// GatherArgs are the arguments of a step of type gather.
type GatherArgs struct {
	decl.Object
	Indices []int64 `json:"indices" decl:"required,most=65536,items.min=0" doc:"The positions to take, from 0, in their order."`
	Axis    int64   `json:"axis" decl:"default=0,min=-254,max=253" doc:"The axis to take them from, not counting the batch dimension. A negative one counts from the end."`
}

// Check finds out whether the positions are in range, as far as that is known.
func (a *GatherArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Input()
	if a.At == nil || a.Bad("indices", "axis") || !ok {
		return nil
	}
	axis, ok := c.Axis(a.Key("axis"), a.Axis, len(t.Shape))
	if !ok {
		return nil
	}
	for i, n := range a.Indices {
		if size := t.Shape[axis]; size >= 0 && n >= size {
			c.Report(a.Key("indices").Elem(i), "index %d is outside of axis %d, which has size %d", n, axis, size)
			return nil
		}
	}
	shape := slices.Clone(t.Shape)
	shape[axis] = int64(len(a.Indices))
	indices := processing.Int64s(a.Indices)
	return processing.Batched{What: fmt.Sprintf("%s of axis %d", processing.FormatShape(indices), axis), To: processing.Tensor{DType: t.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("GatherV2", nil, in[0], b.Const(indices), b.Const(int32(lead+axis)))
	}}
}
