package graph

// MatMul adds a MatMul of two matrices or, with more dimensions, a
// BatchMatMulV2 of the matrices that the last two hold.
func (t Tensor) MatMul(y any) Tensor {
	if t.scope == nil {
		return t
	}
	right := t.operand("MatMul", y)
	if t.Shape().NumDimensions() == 2 && SpecOf(right).Shape.NumDimensions() == 2 {
		return t.apply("MatMul", nil, right)
	}
	return t.apply("BatchMatMulV2", nil, right)
}

// Clip adds a ClipByValue: x where it is between low and high, else the nearer
// of them.
func (t Tensor) Clip(low, high any) Tensor {
	if t.scope == nil {
		return t
	}
	return t.apply("ClipByValue", nil, t.operand("Clip", low), t.operand("Clip", high))
}

// IsClose reports where |x-y| <= max(relative * max(|x|, |y|), absolute), as Python's
// math.isclose does. It adds several operations.
func (t Tensor) IsClose(y any, relative, absolute float64) Tensor {
	if t.scope == nil {
		return t
	}
	other := Tensor{scope: t.scope, output: t.operand("IsClose", y)}
	allowed := t.Abs().Maximum(other.Abs()).Mul(relative).Maximum(absolute)
	return t.Sub(other).Abs().LessEqual(allowed)
}
