package tensors

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ExpandDimsArgs are the arguments of a step of type expand_dims.
type ExpandDimsArgs struct {
	decl.Object
	Axis int64 `json:"axis" decl:"required,min=-254,max=253" doc:"Where the new axis is in the result, not counting the batch dimension. A negative one counts from the end: -1 is a new last axis."`
}

// Check finds out whether the axis is in range.
func (a *ExpandDimsArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Input()
	if a.At == nil || a.Bad("axis") || !ok {
		return nil
	}
	axis, ok := c.Axis(a.Key("axis"), a.Axis, len(t.Shape)+1)
	if !ok {
		return nil
	}
	shape := slices.Insert(slices.Clone(t.Shape), axis, 1)
	return processing.Batched{What: fmt.Sprintf("axis %d", axis), To: processing.Tensor{DType: t.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("ExpandDims", nil, in[0], b.Const(int32(lead+axis)))
	}}
}
