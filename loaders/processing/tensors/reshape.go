package tensors

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ReshapeArgs are the arguments of a step of type reshape.
type ReshapeArgs struct {
	decl.Object
	Shape []int64 `json:"shape" decl:"required,most=253,items.min=-1,items.limit=2147483648" doc:"The new shape, without the batch dimension. One dimension may be -1: it follows from the number of values."`
}

// Check compares the numbers of values, where they are known.
func (a *ReshapeArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("shape") {
		return nil
	}
	at := slices.Index(a.Shape, -1)
	if at >= 0 && slices.Contains(a.Shape[at+1:], -1) {
		c.Report(a.Key("shape"), "has more than one -1: only one dimension can follow from the others")
		return nil
	}
	t, ok := c.Input()
	if !ok {
		return nil
	}
	shape := processing.Int64s(a.Shape)
	have, known := processing.Elements(t.Shape)
	if known && at >= 0 {
		each, _ := processing.Elements(slices.Delete(slices.Clone(shape), at, at+1))
		if each == 0 || have%each != 0 {
			c.Report(a.Key("shape"), "%s values of shape %s do not fit %s", fmt.Sprint(have), processing.FormatShape(t.Shape), processing.FormatShape(a.Shape))
			return nil
		}
		shape[at] = have / each
	} else if want, _ := processing.Elements(shape); known && want != have {
		c.Report(a.Key("shape"), "%d values of shape %s do not fit %s, which has %d", have, processing.FormatShape(t.Shape), processing.FormatShape(a.Shape), want)
		return nil
	}
	return processing.Batched{What: "to " + processing.FormatShape(a.Shape), To: processing.Tensor{DType: t.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("Reshape", nil, in[0], b.InRows(shape, lead))
	}}
}
