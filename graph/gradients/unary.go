package gradients

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// pass returns the derivative unchanged.
var pass = one(func(c *call) tfbridge.Output { return c.dy[0] })

// unaryRules are the rules of operations that work on each element of one tensor.
var unaryRules = map[string]rule{
	"Identity": pass, "Snapshot": pass, "EnsureShape": pass, "CheckNumerics": pass, "PlaceholderWithDefault": pass, "DeepCopy": pass,
	tfbridge.OpHideShape: pass,
	tfbridge.OpCheckArguments: func(c *call) []tfbridge.Output { // the operation returns its first input
		return append(c.dy[:1:1], make([]tfbridge.Output, len(c.inputs)-1)...)
	},
	"IdentityN": func(c *call) []tfbridge.Output { return c.dy },
	"Cast": one(func(c *call) tfbridge.Output {
		return graph.Cast(c.Scope, c.d(0), c.x(0).DataType())
	}),

	"Abs":        times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.f("Sign", x) }),
	"Neg":        one(func(c *call) tfbridge.Output { return c.neg(c.d(0)) }),
	"Exp":        times(func(_ *call, _, y tfbridge.Output) tfbridge.Output { return y }),
	"Expm1":      times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.f("Exp", x) }),
	"Log":        one(func(c *call) tfbridge.Output { return c.div(c.d(0), c.x(0)) }),
	"Log1p":      one(func(c *call) tfbridge.Output { return c.div(c.d(0), c.add(c.n(1), c.x(0))) }),
	"Square":     times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.mul(c.n(2), x) }),
	"Sqrt":       gradOp("SqrtGrad"),
	"Rsqrt":      gradOp("RsqrtGrad"),
	"Reciprocal": gradOp("ReciprocalGrad"),
	"Inv":        gradOp("InvGrad"),
	"Tanh":       gradOp("TanhGrad"),
	"Sigmoid":    gradOp("SigmoidGrad"),

	"Sin":  times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.f("Cos", x) }),
	"Cos":  times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.neg(c.f("Sin", x)) }),
	"Tan":  times(func(c *call, _, y tfbridge.Output) tfbridge.Output { return c.add(c.n(1), c.f("Square", y)) }),
	"Sinh": times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.f("Cosh", x) }),
	"Cosh": times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.f("Sinh", x) }),
	"Asin": times(func(c *call, x, _ tfbridge.Output) tfbridge.Output {
		return c.f("Rsqrt", c.sub(c.n(1), c.f("Square", x)))
	}),
	"Acos": times(func(c *call, x, _ tfbridge.Output) tfbridge.Output {
		return c.neg(c.f("Rsqrt", c.sub(c.n(1), c.f("Square", x))))
	}),
	"Atan":  one(func(c *call) tfbridge.Output { return c.div(c.d(0), c.add(c.n(1), c.f("Square", c.x(0)))) }),
	"Asinh": one(func(c *call) tfbridge.Output { return c.div(c.d(0), c.f("Cosh", c.y(0))) }),
	"Acosh": one(func(c *call) tfbridge.Output { return c.div(c.d(0), c.f("Sinh", c.y(0))) }),
	"Atanh": one(func(c *call) tfbridge.Output { return c.div(c.d(0), c.sub(c.n(1), c.f("Square", c.x(0)))) }),

	"Erf":     gaussian(2 / math.SqrtPi),
	"Erfc":    gaussian(-2 / math.SqrtPi),
	"Lgamma":  times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.f("Digamma", x) }),
	"Digamma": times(func(c *call, x, _ tfbridge.Output) tfbridge.Output { return c.f("Polygamma", c.n(1), x) }),
	"L2Loss":  one(func(c *call) tfbridge.Output { return c.mul(c.x(0), c.d(0)) }),
}

// gradOp is the rule of an operation for which TensorFlow has an operation that
// computes the derivative from y and its derivative.
func gradOp(opType string) rule {
	return one(func(c *call) tfbridge.Output { return c.f(opType, c.y(0), c.d(0)) })
}

// gaussian is the rule of an operation whose derivative is factor * exp(-x²).
func gaussian(factor float64) rule {
	return times(func(c *call, x, _ tfbridge.Output) tfbridge.Output {
		return c.mul(c.n(factor), c.f("Exp", c.neg(c.f("Square", x))))
	})
}
