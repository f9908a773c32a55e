package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// reductionRules are the rules of operations that combine elements along axes.
var reductionRules = map[string]rule{
	"Sum": func(c *call) []tfbridge.Output { return []tfbridge.Output{spread(c, keptDims(c, c.d(0)))} },
	"Mean": func(c *call) []tfbridge.Output {
		sum := spread(c, keptDims(c, c.d(0)))
		return []tfbridge.Output{c.div(sum, countPerResult(c))}
	},
	"Max": extremeRule, "Min": extremeRule,
	"EuclideanNorm": func(c *call) []tfbridge.Output {
		return []tfbridge.Output{c.mul(c.x(0), c.f("DivNoNan", keptDims(c, c.d(0)), keptDims(c, c.y(0))))}
	},
	"Cumsum": func(c *call) []tfbridge.Output {
		a := c.attrs("exclusive", "reverse")
		if reverse, ok := a["reverse"].(bool); ok {
			a["reverse"] = !reverse
		}
		return []tfbridge.Output{c.fa("Cumsum", a, c.d(0), c.x(1))}
	},
	"SegmentSum": func(c *call) []tfbridge.Output {
		return []tfbridge.Output{graph.GatherV2(c.Scope, c.d(0), c.x(1), 0)}
	},
	"UnsortedSegmentSum": func(c *call) []tfbridge.Output {
		// Rows with negative segment numbers are dropped.
		known := c.f("GreaterEqual", c.x(1), c.f("ZerosLike", c.x(1)))
		rows := graph.GatherV2(c.Scope, c.d(0), c.f("Maximum", c.x(1), c.f("ZerosLike", c.x(1))), 0)
		for known.Op != nil && rows.Op != nil && known.Shape().NumDimensions() < rows.Shape().NumDimensions() {
			known = graph.ExpandDims(c.Scope, known, -1)
		}
		return []tfbridge.Output{c.f("SelectV2", known, rows, c.f("ZerosLike", rows))}
	},
}

// keptDims returns a reduced tensor with a dimension of 1 for each axis that the
// operation has dropped.
func keptDims(c *call, x tfbridge.Output) tfbridge.Output {
	if attr[bool](c, "keep_dims") {
		return x
	}
	rank := c.x(0).Shape().NumDimensions()
	if axes, ok := ints(c.x(1)); ok && rank >= 0 {
		dropped := make([]bool, rank)
		for _, a := range axes {
			dropped[(int(a)+rank)%rank] = true
		}
		for i, drop := range dropped {
			if drop {
				x = graph.ExpandDims(c.Scope, x, int64(i))
			}
		}
		return x
	}
	return graph.Reshape(c.Scope, x, keptShape(c))
}

// keptShape computes the shape with a dimension of 1 for each axis.
func keptShape(c *call) tfbridge.Output {
	shape := c.shape(c.x(0))
	rank := c.f("Size", shape)
	axes := graph.Reshape(c.Scope, graph.Cast(c.Scope, c.x(1), tfbridge.Int32), c.Const([]int32{-1}))
	axes = graph.FloorMod(c.Scope, c.add(axes, rank), rank)
	all := graph.Range(c.Scope, c.Const(int32(0)), rank, c.Const(int32(1)))
	return c.Op1("DynamicStitch", nil, tfbridge.OutputList{all, axes}, tfbridge.OutputList{shape, c.f("OnesLike", axes)})
}

// spread repeats a derivative with kept dimensions over the elements of the input.
func spread(c *call, d tfbridge.Output) tfbridge.Output {
	return c.setShape(graph.BroadcastTo(c.Scope, d, c.shape(c.x(0))), c.x(0))
}

// countPerResult returns how many elements each element of the result combines.
func countPerResult(c *call) tfbridge.Output {
	dt := c.y(0).DataType()
	shape := c.x(0).Shape()
	if axes, ok := ints(c.x(1)); ok && shape.NumDimensions() >= 0 {
		count, known := 1.0, true
		for _, a := range axes {
			n := shape.Size((int(a) + shape.NumDimensions()) % shape.NumDimensions())
			count, known = count*float64(n), known && n >= 0
		}
		if known {
			return c.n(count)
		}
	}
	results := graph.Maximum(c.Scope, c.f("Size", c.y(0)), c.Const(int32(1)))
	return graph.Cast(c.Scope, graph.FloorDiv(c.Scope, c.f("Size", c.x(0)), results), dt)
}

// extremeRule divides the derivative of a maximum equally among the elements that equal
// it.
func extremeRule(c *call) []tfbridge.Output {
	y, d := keptDims(c, c.y(0)), keptDims(c, c.d(0))
	equal := graph.Cast(c.Scope, graph.Equal(c.Scope, y, c.x(0)), c.y(0).DataType())
	count := c.fa("Sum", map[string]any{"keep_dims": true}, equal, c.x(1))
	return []tfbridge.Output{c.mul(c.div(equal, count), d)}
}
