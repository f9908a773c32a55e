package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// like gives the derivative the shape of the input.
var like = one(func(c *call) tfbridge.Output { return c.reshapeLike(c.d(0), c.x(0)) })

// shapeRules are the rules of operations that rearrange elements.
var shapeRules = map[string]rule{
	"Reshape": like, "ExpandDims": like, "Squeeze": like,
	"Transpose": one(func(c *call) tfbridge.Output {
		return c.f("Transpose", c.d(0), c.f("InvertPermutation", c.x(1)))
	}),
	"Pack": func(c *call) []tfbridge.Output {
		return c.ops("Unpack", map[string]any{"num": len(c.inputs), "axis": attr[int64](c, "axis")}, c.d(0))
	},
	"Unpack": func(c *call) []tfbridge.Output { return []tfbridge.Output{c.fl("Pack", c.attrs("axis"), c.ds())} },
	"ConcatV2": func(c *call) []tfbridge.Output {
		n := len(c.inputs) - 1
		return append(unconcat(c, c.inputs[:n], c.x(n)), tfbridge.Output{})
	},
	"Concat": func(c *call) []tfbridge.Output {
		return append([]tfbridge.Output{{}}, unconcat(c, c.inputs[1:], c.x(0))...)
	},
	"Split":  func(c *call) []tfbridge.Output { return []tfbridge.Output{{}, c.concat(c.ds(), c.x(0))} },
	"SplitV": one(func(c *call) tfbridge.Output { return c.concat(c.ds(), c.x(2)) }),
	"Tile":   tileRule,
	"BroadcastTo": one(func(c *call) tfbridge.Output {
		return c.unbroadcastTo(0, c.d(0))
	}),
	"Fill":      func(c *call) []tfbridge.Output { return []tfbridge.Output{{}, graph.ReduceSum(c.Scope, c.d(0))} },
	"ReverseV2": one(func(c *call) tfbridge.Output { return c.f("ReverseV2", c.d(0), c.x(1)) }),
	"ReverseSequence": one(func(c *call) tfbridge.Output {
		return c.fa("ReverseSequence", c.attrs("seq_dim", "batch_dim"), c.d(0), c.x(1))
	}),
	"Roll":           one(func(c *call) tfbridge.Output { return c.f("Roll", c.d(0), c.neg(c.x(1)), c.x(2)) }),
	"SpaceToBatchND": one(func(c *call) tfbridge.Output { return c.f("BatchToSpaceND", c.d(0), c.x(1), c.x(2)) }),
	"BatchToSpaceND": one(func(c *call) tfbridge.Output { return c.f("SpaceToBatchND", c.d(0), c.x(1), c.x(2)) }),
	"SpaceToDepth": one(func(c *call) tfbridge.Output {
		return c.fa("DepthToSpace", c.attrs("block_size", "data_format"), c.d(0))
	}),
	"DepthToSpace": one(func(c *call) tfbridge.Output {
		return c.fa("SpaceToDepth", c.attrs("block_size", "data_format"), c.d(0))
	}),
}

// unconcat splits the derivative of joined tensors into the derivatives of each.
func unconcat(c *call, values []tfbridge.Output, axis tfbridge.Output) []tfbridge.Output {
	if len(values) == 1 {
		return []tfbridge.Output{c.d(0)}
	}
	axis = graph.Cast(c.Scope, axis, tfbridge.Int32)
	if at, ok := ints(axis); ok && at[0] < 0 || !ok { // ConcatOffset does not accept a negative axis
		axis = graph.FloorMod(c.Scope, axis, c.f("Rank", c.d(0)))
	}
	var shapes tfbridge.OutputList
	for _, v := range values {
		shapes = append(shapes, c.shape(v))
	}
	offsets := c.Op("ConcatOffset", nil, axis, shapes)
	if c.Err() != nil {
		return nil
	}
	parts := make([]tfbridge.Output, len(values))
	for i := range values {
		parts[i] = c.setShape(graph.Slice(c.Scope, c.d(0), offsets[i], shapes[i]), values[i])
	}
	return parts
}

// tileRule sums the copies: it gives each dimension of the result one dimension for
// the copies and one within a copy.
func tileRule(c *call) []tfbridge.Output {
	shape := c.shape(c.x(0))
	pairs := c.fl("Pack", map[string]any{"axis": 1}, []tfbridge.Output{graph.Cast(c.Scope, c.x(1), tfbridge.Int32), shape})
	split := graph.Reshape(c.Scope, pairs, c.Const([]int32{-1}))
	axes := graph.Range(c.Scope, c.Const(int32(0)), c.f("Size", split), c.Const(int32(2)))
	return []tfbridge.Output{c.setShape(c.f("Sum", graph.Reshape(c.Scope, c.d(0), split), axes), c.x(0))}
}

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
