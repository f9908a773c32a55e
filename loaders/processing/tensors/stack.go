package tensors

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// StackArgs are the arguments of a step of type stack.
type StackArgs struct {
	decl.Object
	Axis int64 `json:"axis" decl:"default=0,min=-254,max=253" doc:"Where the new axis is in the result, not counting the batch dimension. A negative one counts from the end."`
}

// Check compares the tensors, which have one shape.
func (a *StackArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("axis") || !alike(c) {
		return nil
	}
	first := c.In[0]
	axis, ok := c.Axis(a.Key("axis"), a.Axis, len(first.Shape)+1)
	if !ok {
		return nil
	}
	shape := slices.Clone(first.Shape)
	for i, t := range c.In {
		for k, n := range t.Shape {
			if shape[k] < 0 {
				shape[k] = n
			} else if n >= 0 && n != shape[k] {
				c.Report(c.Entry.Key("tensors").Elem(i), "%s has shape %s, and %s %s: stack takes tensors of one shape",
					decl.Quote(t.Name), processing.FormatShape(t.Shape), decl.Quote(first.Name), processing.FormatShape(first.Shape))
				return nil
			}
		}
	}
	shape = slices.Insert(shape, axis, int64(len(c.In)))
	return processing.Batched{What: fmt.Sprintf("along axis %d", axis), To: processing.Tensor{DType: first.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("Pack", map[string]any{"axis": int64(lead + axis)}, tfbridge.OutputList(in))
	}}
}
