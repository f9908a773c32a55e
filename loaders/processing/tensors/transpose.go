package tensors

import (
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// TransposeArgs are the arguments of a step of type transpose.
type TransposeArgs struct {
	decl.Object
	Perm []int64 `json:"perm" decl:"required,most=253" doc:"For each axis of the result the axis of the tensor that it is, from 0, not counting the batch dimension."`
}

// Check reports a perm that is not a permutation of the axes.
func (a *TransposeArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Input()
	if a.At == nil || a.Bad("perm") || !ok {
		return nil
	}
	sorted := slices.Sorted(slices.Values(a.Perm))
	for i, axis := range sorted {
		if int64(i) != axis || len(sorted) != len(t.Shape) {
			sorted = nil
			break
		}
	}
	if len(sorted) != len(t.Shape) {
		c.Report(a.Key("perm"), "must hold each axis of %s once, from 0 to %d, got %s", decl.Quote(t.Name), len(t.Shape)-1, processing.FormatShape(a.Perm))
		return nil
	}
	shape := make([]int64, len(t.Shape))
	for i, axis := range a.Perm {
		shape[i] = t.Shape[axis]
	}
	return processing.Batched{What: "axes " + processing.FormatShape(a.Perm), To: processing.Tensor{DType: t.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		perm := make([]int32, lead, lead+len(shape))
		for _, axis := range a.Perm {
			perm = append(perm, int32(lead)+int32(axis))
		}
		return b.Op1("Transpose", nil, in[0], b.Const(perm))
	}}
}
