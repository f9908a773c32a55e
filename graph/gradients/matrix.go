package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// matrixRules are the rules of products of matrices.
var matrixRules = map[string]rule{
	"MatMul":      func(c *call) []tfbridge.Output { return products(c, "MatMul", "transpose_a", "transpose_b") },
	"BatchMatMul": batchMatMulRule, "BatchMatMulV2": batchMatMulRule, "BatchMatMulV3": batchMatMulRule,
	"Einsum": einsumRule,
	"MatrixBandPart": one(func(c *call) tfbridge.Output {
		return c.f("MatrixBandPart", c.d(0), c.x(1), c.x(2))
	}),
	"MatrixDiagPart": one(func(c *call) tfbridge.Output { return c.f("MatrixSetDiag", c.f("ZerosLike", c.x(0)), c.d(0)) }),
	"MatrixDiag":     one(func(c *call) tfbridge.Output { return c.f("MatrixDiagPart", c.d(0)) }),
	"MatrixDiagPartV3": one(func(c *call) tfbridge.Output {
		return c.fa("MatrixSetDiagV3", c.attrs("align"), c.f("ZerosLike", c.x(0)), c.d(0), c.x(1))
	}),
	"MatrixDiagV3": one(func(c *call) tfbridge.Output {
		return c.fa("MatrixDiagPartV3", c.attrs("align"), c.d(0), c.x(1), c.n(0))
	}),
	"MatrixSetDiagV3": func(c *call) []tfbridge.Output {
		align := c.attrs("align")
		rest := c.fa("MatrixSetDiagV3", align, c.d(0), c.f("ZerosLike", c.x(1)), c.x(2))
		return []tfbridge.Output{rest, c.fa("MatrixDiagPartV3", align, c.d(0), c.x(2), c.n(0))}
	},
}

// products returns the derivatives of a product of matrices, each of which the
// operation may have transposed:
//
//	y = A B      dA = dy B'     dB = A' dy
//	y = A B'     dA = dy B      dB = dy' A
//	y = A' B     dA = B dy'     dB = A dy
//	y = A' B'    dA = B' dy'    dB = dy' A'
func products(c *call, op, a, b string) []tfbridge.Output {
	ta, tb := attr[bool](c, a), attr[bool](c, b)
	product := func(x, y tfbridge.Output, tx, ty bool) tfbridge.Output {
		return c.fa(op, map[string]any{a: tx, b: ty}, x, y)
	}
	A, B, d := c.x(0), c.x(1), c.d(0)
	dA := c.lazy(0, func() tfbridge.Output {
		if ta {
			return product(B, d, tb, true)
		}
		return product(d, B, false, !tb)
	})
	dB := c.lazy(1, func() tfbridge.Output {
		if tb {
			return product(d, A, true, ta)
		}
		return product(A, d, !ta, false)
	})
	return []tfbridge.Output{dA, dB}
}

// batchMatMulRule is the rule of products of batches of matrices. V2 and V3
// broadcast the dimensions of the batches.
func batchMatMulRule(c *call) []tfbridge.Output {
	op := c.typ
	if op == "BatchMatMulV3" {
		op = "BatchMatMulV2"
	}
	d := products(c, op, "adj_x", "adj_y")
	if op == "BatchMatMul" || c.Err() != nil {
		return d
	}
	return []tfbridge.Output{unbatch(c, 0, d[0], 1), unbatch(c, 1, d[1], 0)}
}

// unbatch is unbroadcast for all dimensions but the last two.
func unbatch(c *call, i int, d tfbridge.Output, other int) tfbridge.Output {
	if d.Op == nil || !c.active[i] {
		return tfbridge.Output{}
	}
	x, y := c.x(i).Shape(), c.x(other).Shape()
	if x.NumDimensions() == y.NumDimensions() && x.NumDimensions() >= 0 {
		same := true
		for k := range x.NumDimensions() - 2 {
			same = same && x.Size(k) == y.Size(k) && x.Size(k) >= 0
		}
		if same {
			return d
		}
	}
	batch := func(o tfbridge.Output) tfbridge.Output {
		return graph.Subscript(c.Scope, c.shape(o), graph.Until(-2))
	}
	axes := c.Op("BroadcastGradientArgs", nil, batch(c.x(i)), batch(c.x(other)))
	if c.Err() != nil {
		return tfbridge.Output{}
	}
	return c.reshapeLike(c.f("Sum", d, axes[0]), c.x(i))
}
