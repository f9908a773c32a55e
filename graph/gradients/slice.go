package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// sliceRules are the rules of operations that take parts of a tensor or add to its
// borders.
var sliceRules = map[string]rule{
	"Slice": one(func(c *call) tfbridge.Output {
		before := graph.Cast(c.Scope, c.x(1), tfbridge.Int32)
		after := c.sub(c.sub(c.shape(c.x(0)), before), c.shape(c.d(0)))
		return c.setShape(c.f("Pad", c.d(0), c.fl("Pack", map[string]any{"axis": 1}, []tfbridge.Output{before, after})), c.x(0))
	}),
	"StridedSlice": one(func(c *call) tfbridge.Output {
		a := c.attrs("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
		shape := c.fa("Shape", map[string]any{"out_type": c.x(1).DataType()}, c.x(0))
		return c.setShape(c.fa("StridedSliceGrad", a, shape, c.x(1), c.x(2), c.x(3), c.d(0)), c.x(0))
	}),
	"Pad": one(unpad),
	"PadV2": func(c *call) []tfbridge.Output {
		dx := unpad(c)
		return []tfbridge.Output{dx, {}, c.lazy(2, func() tfbridge.Output {
			return c.sub(graph.ReduceSum(c.Scope, c.d(0)), graph.ReduceSum(c.Scope, dx))
		})}
	},
	"MirrorPad": one(func(c *call) tfbridge.Output {
		return c.setShape(c.fa("MirrorPadGrad", c.attrs("mode"), c.d(0), c.x(1)), c.x(0))
	}),
}

// unpad returns the part of the derivative that is not padding.
func unpad(c *call) tfbridge.Output {
	before := graph.Subscript(c.Scope, graph.Cast(c.Scope, c.x(1), tfbridge.Int32), graph.Whole(), graph.At(0))
	return c.setShape(graph.Slice(c.Scope, c.d(0), before, c.shape(c.x(0))), c.x(0))
}
