package tensors

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ConcatArgs are the arguments of a step of type concat.
type ConcatArgs struct {
	decl.Object
	Axis int64 `json:"axis" decl:"default=0,min=-254,max=253" doc:"The axis along which the tensors are joined, not counting the batch dimension. A negative one counts from the end."`
}

// Check compares the tensors: they differ in the size of one axis at most.
func (a *ConcatArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("axis") || !alike(c) {
		return nil
	}
	first := c.In[0]
	axis, ok := c.Axis(a.Key("axis"), a.Axis, len(first.Shape))
	if !ok {
		return nil
	}
	shape := slices.Clone(first.Shape)
	shape[axis] = 0
	for i, t := range c.In {
		for k, n := range t.Shape {
			switch {
			case k == axis && (n < 0 || shape[k] < 0):
				shape[k] = -1
			case k == axis:
				shape[k] += n
			case shape[k] < 0:
				shape[k] = n
			case n >= 0 && n != shape[k]:
				c.Report(c.Entry.Key("tensors").Elem(i), "%s has shape %s, and %s %s: they must agree but for axis %d",
					decl.Quote(t.Name), processing.FormatShape(t.Shape), decl.Quote(first.Name), processing.FormatShape(first.Shape), axis)
				return nil
			}
		}
	}
	return processing.Batched{What: fmt.Sprintf("along axis %d", axis), To: processing.Tensor{DType: first.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		if len(in) == 1 {
			return b.Op1("Identity", nil, in[0])
		}
		return b.Op1("ConcatV2", nil, tfbridge.OutputList(in), b.Const(int32(lead+axis)))
	}}
}

// alike reports tensors that differ in data type or rank, and returns false.
func alike(c *processing.Context) bool {
	if !c.Known || len(c.In) == 0 {
		return false
	}
	first := c.In[0]
	for i, t := range c.In[1:] {
		at := c.Entry.Key("tensors").Elem(i + 1)
		switch {
		case t.DType != first.DType:
			c.Report(at, "%s is %s, and %s %s: %s takes tensors of one dtype", decl.Quote(t.Name), t.DType, decl.Quote(first.Name), first.DType, c.Type)
			return false
		case len(t.Shape) != len(first.Shape):
			c.Report(at, "%s has %s, and %s %d: %s takes tensors of one rank", decl.Quote(t.Name), processing.Dimensions(len(t.Shape)), decl.Quote(first.Name), len(first.Shape), c.Type)
			return false
		}
	}
	return true
}
