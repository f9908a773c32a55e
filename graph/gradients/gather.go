package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// gatherRules are the rules of operations that pick elements by their indices. An
// embedding is one of them.
var gatherRules = map[string]rule{
	"GatherV2": gatherV2Rule,
	"Gather":   func(c *call) []tfbridge.Output { return []tfbridge.Output{scatterRows(c, c.d(0), c.x(0))} },
	"GatherNd": one(func(c *call) tfbridge.Output {
		return c.setShape(c.f("ScatterNd", c.x(1), c.d(0), c.shapeAs(c.x(0), c.x(1))), c.x(0))
	}),
	"ResourceGather": resourceGatherRule,
	"ScatterNd": func(c *call) []tfbridge.Output {
		return []tfbridge.Output{{}, c.f("GatherNd", c.d(0), c.x(0))}
	},
	"TensorScatterAdd": func(c *call) []tfbridge.Output {
		return []tfbridge.Output{c.d(0), {}, c.f("GatherNd", c.d(0), c.x(1))}
	},
	"TensorScatterUpdate": func(c *call) []tfbridge.Output {
		rest := c.f("TensorScatterUpdate", c.d(0), c.x(1), c.f("ZerosLike", c.x(2)))
		return []tfbridge.Output{rest, {}, c.f("GatherNd", c.d(0), c.x(1))}
	},
}

// gatherV2Rule is the rule of GatherV2 with a constant axis.
func gatherV2Rule(c *call) []tfbridge.Output {
	axes, ok := ints(c.x(2))
	batch := attr[int64](c, "batch_dims")
	rank := c.x(0).Shape().NumDimensions()
	if !ok || len(axes) != 1 {
		return c.fail("its axis is computed when the graph runs")
	}
	axis := axes[0]
	if axis < 0 || batch < 0 {
		if rank < 0 {
			return c.fail("its axis is %d, and the rank of its input is not known", axis)
		}
		axis = (axis + int64(rank)) % int64(rank)
	}
	switch {
	case axis == 0:
		return []tfbridge.Output{scatterRows(c, c.d(0), c.x(0))}
	case batch == axis:
		return []tfbridge.Output{scatterBatch(c, int(batch))}
	case batch == 0 && rank > 0 && c.x(1).Shape().NumDimensions() >= 0:
		return []tfbridge.Output{scatterAxis(c, int(axis), rank)}
	}
	return c.fail("its axis is %d with %d batch dimensions", axis, batch)
}

// scatterRows adds each row of d to the row of the result that its index names. The
// result has the shape of params.
func scatterRows(c *call, d, params tfbridge.Output) tfbridge.Output {
	s := c.Scope
	indices := graph.Reshape(s, c.x(1), c.Const([]int32{-1}))
	shape := c.shape(params)
	inner := graph.Subscript(s, shape, graph.From(1))
	rows := graph.Reshape(s, d, graph.ConcatV2(s, []tfbridge.Output{graph.Reshape(s, c.f("Size", indices), c.Const([]int32{1})), inner}, 0))
	return c.setShape(c.f("UnsortedSegmentSum", rows, indices, graph.Subscript(s, shape, graph.At(0))), params)
}

// scatterAxis moves the axis to the front, scatters, and moves it back.
func scatterAxis(c *call, axis, rank int) tfbridge.Output {
	n := c.x(1).Shape().NumDimensions() // dimensions of d that replace the axis
	var forward, front, back []int32
	for i := range n {
		forward = append(forward, int32(axis+i))
	}
	for i := range rank - 1 + n {
		if i < axis || i >= axis+n {
			forward = append(forward, int32(i))
		}
	}
	front = append(front, int32(axis))
	for i := range rank {
		if i != axis {
			front = append(front, int32(i))
		}
		switch {
		case i < axis:
			back = append(back, int32(i+1))
		case i == axis:
			back = append(back, 0)
		default:
			back = append(back, int32(i))
		}
	}
	params := c.f("Transpose", c.x(0), c.Const(front))
	rows := scatterRows(c, c.f("Transpose", c.d(0), c.Const(forward)), params)
	return c.setShape(c.f("Transpose", rows, c.Const(back)), c.x(0))
}

// scatterBatch makes one tall tensor of a batch, in which row r of example b has the
// number b * rows + r.
func scatterBatch(c *call, batch int) tfbridge.Output {
	s := c.Scope
	shape := c.shape(c.x(0))
	count := c.prod(graph.Subscript(s, shape, graph.Until(int64(batch))))
	rows := graph.Subscript(s, shape, graph.At(int64(batch)))
	inner := graph.Subscript(s, shape, graph.From(int64(batch)+1))
	vector := func(x tfbridge.Output) tfbridge.Output { return graph.Reshape(s, x, c.Const([]int32{-1})) }
	first := c.mul(graph.Range(s, c.Const(int32(0)), count, c.Const(int32(1))), rows)
	indices := graph.Reshape(s, graph.Cast(s, c.x(1), tfbridge.Int32), c.fl("Pack", nil, []tfbridge.Output{count, c.Const(int32(-1))}))
	indices = vector(c.add(indices, graph.ExpandDims(s, first, -1)))
	d := graph.Reshape(s, c.d(0), graph.ConcatV2(s, []tfbridge.Output{vector(c.f("Size", indices)), inner}, 0))
	return c.reshapeLike(c.f("UnsortedSegmentSum", d, indices, c.mul(count, rows)), c.x(0))
}
