package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// binaryRules are the rules of operations that work on each element of several
// tensors, which TensorFlow broadcasts to a common shape.
var binaryRules = map[string]rule{
	"Add": both(sums), "AddV2": both(sums),
	"Sub": both(func(c *call) (dx, dy tfbridge.Output) {
		return c.d(0), c.lazy(1, func() tfbridge.Output { return c.neg(c.d(0)) })
	}),
	"Mul": both(func(c *call) (dx, dy tfbridge.Output) {
		return c.lazy(0, func() tfbridge.Output { return c.mul(c.d(0), c.x(1)) }), c.lazy(1, func() tfbridge.Output { return c.mul(c.d(0), c.x(0)) })
	}),
	"RealDiv": both(quotient("RealDiv")), "Div": both(quotient("RealDiv")), "DivNoNan": both(quotient("DivNoNan")),
	"SquaredDifference": both(func(c *call) (dx, dy tfbridge.Output) {
		d := c.mul(c.mul(c.n(2), c.d(0)), c.sub(c.x(0), c.x(1)))
		return d, c.lazy(1, func() tfbridge.Output { return c.neg(d) })
	}),
	"Maximum": both(chosen("GreaterEqual")),
	"Minimum": both(chosen("LessEqual")),
	"Pow":     both(power),
	"MulNoNan": both(func(c *call) (dx, dy tfbridge.Output) {
		return c.f("MulNoNan", c.d(0), c.x(1)), c.f("MulNoNan", c.x(0), c.d(0))
	}),
	"FloorMod": both(func(c *call) (dx, dy tfbridge.Output) {
		return c.d(0), c.lazy(1, func() tfbridge.Output { return c.neg(c.mul(c.d(0), c.f("FloorDiv", c.x(0), c.x(1)))) })
	}),
	"Xlogy": both(func(c *call) (dx, dy tfbridge.Output) {
		known := graph.Cast(c.Scope, graph.NotEqual(c.Scope, c.x(0), c.n(0)), c.y(0).DataType())
		return c.mul(c.d(0), c.f("Xlogy", known, c.x(1))), c.mul(c.d(0), c.f("Xdivy", c.x(0), c.x(1)))
	}),
	"Atan2": both(func(c *call) (dx, dy tfbridge.Output) {
		d := c.div(c.d(0), c.add(c.f("Square", c.x(0)), c.f("Square", c.x(1))))
		return c.mul(c.x(1), d), c.neg(c.mul(c.x(0), d))
	}),
	"SelectV2":    selectRule,
	"Select":      selectV1Rule,
	"ClipByValue": clipRule,
	"AddN": func(c *call) []tfbridge.Output {
		dx := make([]tfbridge.Output, len(c.inputs))
		for i := range dx {
			dx[i] = c.dy[0]
		}
		return dx
	},
	"BiasAdd": func(c *call) []tfbridge.Output {
		return []tfbridge.Output{c.d(0), c.lazy(1, func() tfbridge.Output { return c.fa("BiasAddGrad", c.attrs("data_format"), c.d(0)) })}
	},
	"BiasAddV1": func(c *call) []tfbridge.Output { return []tfbridge.Output{c.d(0), c.f("BiasAddGrad", c.d(0))} },
}

// both returns the rule of an operation of two tensors from the derivatives in the
// shape of the result.
func both(f func(c *call) (dx, dy tfbridge.Output)) rule {
	return func(c *call) []tfbridge.Output {
		dx, dy := f(c)
		if c.Err() != nil {
			return nil
		}
		return []tfbridge.Output{c.unbroadcast(0, dx, 1), c.unbroadcast(1, dy, 0)}
	}
}

func sums(c *call) (dx, dy tfbridge.Output) { return c.d(0), c.d(0) }

// quotient is the derivatives of x / y, by an operation that divides.
func quotient(div string) func(c *call) (dx, dy tfbridge.Output) {
	return func(c *call) (dx, dy tfbridge.Output) {
		dx = c.f(div, c.d(0), c.x(1))
		return dx, c.lazy(1, func() tfbridge.Output { return c.neg(c.mul(c.d(0), c.f(div, c.y(0), c.x(1)))) })
	}
}

// chosen is the derivatives of an operation that chooses x where a comparison of x with
// y is true, and y elsewhere.
func chosen(compare string) func(c *call) (dx, dy tfbridge.Output) {
	return func(c *call) (dx, dy tfbridge.Output) {
		first := c.f(compare, c.x(0), c.x(1))
		zero := c.f("ZerosLike", c.d(0))
		return c.lazy(0, func() tfbridge.Output { return c.f("SelectV2", first, c.d(0), zero) }),
			c.lazy(1, func() tfbridge.Output { return c.f("SelectV2", first, zero, c.d(0)) })
	}
}

// power is the derivatives of x to the power of y. The logarithm of an x that is not
// positive counts as 0, as in Python.
func power(c *call) (dx, dy tfbridge.Output) {
	x, y, one := c.x(0), c.x(1), c.n(1)
	dx = c.lazy(0, func() tfbridge.Output { return c.mul(c.d(0), c.mul(y, c.f("Pow", x, c.sub(y, one)))) })
	dy = c.lazy(1, func() tfbridge.Output {
		positive := c.f("Greater", x, c.n(0))
		safe := c.f("SelectV2", positive, x, c.f("OnesLike", x))
		log := c.f("SelectV2", positive, c.f("Log", safe), c.f("ZerosLike", x))
		return c.mul(c.d(0), c.mul(c.y(0), log))
	})
	return dx, dy
}

// selectRule is the rule of SelectV2, which broadcasts all three inputs.
func selectRule(c *call) []tfbridge.Output {
	zero := c.f("ZerosLike", c.d(0))
	dx := c.lazy(1, func() tfbridge.Output { return c.f("SelectV2", c.x(0), c.d(0), zero) })
	dy := c.lazy(2, func() tfbridge.Output { return c.f("SelectV2", c.x(0), zero, c.d(0)) })
	return []tfbridge.Output{{}, c.unbroadcastTo(1, dx), c.unbroadcastTo(2, dy)}
}

// selectV1Rule is the rule of Select, whose condition may be a vector of rows.
func selectV1Rule(c *call) []tfbridge.Output {
	zero := c.f("ZerosLike", c.d(0))
	return []tfbridge.Output{{}, c.f("Select", c.x(0), c.d(0), zero), c.f("Select", c.x(0), zero, c.d(0))}
}

// clipRule is the rule of ClipByValue: the derivative goes to x within the limits, and
// to the limit elsewhere.
func clipRule(c *call) []tfbridge.Output {
	x, low, high := c.x(0), c.x(1), c.x(2)
	below, above, zero := c.f("Less", x, low), c.f("Greater", x, high), c.f("ZerosLike", c.d(0))
	inside := c.f("SelectV2", c.f("LogicalOr", below, above), zero, c.d(0))
	return []tfbridge.Output{
		c.unbroadcastTo(0, inside),
		c.lazy(1, func() tfbridge.Output { return c.unbroadcastTo(1, c.f("SelectV2", below, c.d(0), zero)) }),
		c.lazy(2, func() tfbridge.Output { return c.unbroadcastTo(2, c.f("SelectV2", above, c.d(0), zero)) }),
	}
}
