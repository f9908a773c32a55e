package tensors

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// PadArgs are the arguments of a step of type pad.
type PadArgs struct {
	decl.Object
	Paddings [][]int64        `json:"paddings" decl:"required,most=253" doc:"For each axis how many values to add before and after it: [[0, 0], [1, 2]]."`
	Value    processing.Value `json:"value" decl:"" doc:"The value to pad with, which must be exactly a value of the tensor's dtype. The default is 0, false or the empty string."`
}

// Check compares the paddings with the axes of the tensor.
func (a *PadArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Input()
	if a.At == nil || a.Bad("paddings", "value") || !ok {
		return nil
	}
	at := a.Key("paddings")
	if len(a.Paddings) != len(t.Shape) {
		c.Report(at, "%d pairs for a tensor of %s: %s", len(a.Paddings), processing.Dimensions(len(t.Shape)), processing.FormatShape(t.Shape))
		return nil
	}
	shape, paddings := slices.Clone(t.Shape), make([][]int64, 0, len(t.Shape))
	for i, p := range a.Paddings {
		if len(p) != 2 || p[0] < 0 || p[1] < 0 || p[0] > processing.MaxDimension || p[1] > processing.MaxDimension {
			c.Report(at.Elem(i), "must be two integers from 0 to %d, before and after the axis", processing.MaxDimension)
			return nil
		}
		if paddings = append(paddings, p); shape[i] >= 0 {
			shape[i] += p[0] + p[1]
		}
	}
	value, ok := c.Value(a.Key("value"), a.Value, t.DType)
	if !ok || len(shape) == 0 {
		return nil
	}
	return processing.Batched{What: fmt.Sprintf("%v with %v", paddings, value), To: processing.Tensor{DType: t.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("PadV2", nil, in[0], b.Const(slices.Concat(slices.Repeat([][]int64{{0, 0}}, lead), paddings)), b.Scalar(value, t.DType))
	}}
}
