package tensors

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// SqueezeArgs are the arguments of a step of type squeeze.
type SqueezeArgs struct {
	decl.Object
	Axis int64 `json:"axis" decl:"required,min=-254,max=253" doc:"The axis to remove, which has size 1, not counting the batch dimension. A negative one counts from the end."`
}

// Check finds out whether the axis has size 1, as far as it is known.
func (a *SqueezeArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Input()
	if a.At == nil || a.Bad("axis") || !ok {
		return nil
	}
	axis, ok := c.Axis(a.Key("axis"), a.Axis, len(t.Shape))
	if !ok {
		return nil
	}
	if n := t.Shape[axis]; n >= 0 && n != 1 {
		c.Report(a.Key("axis"), "axis %d has size %d, and only one of size 1 can be removed", a.Axis, n).Hint = "slice takes one position of an axis"
		return nil
	}
	shape := slices.Delete(slices.Clone(t.Shape), axis, axis+1)
	return processing.Batched{What: fmt.Sprintf("axis %d", axis), To: processing.Tensor{DType: t.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("Squeeze", map[string]any{"squeeze_dims": []int64{int64(lead + axis)}}, in[0])
	}}
}
