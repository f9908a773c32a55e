package graph

// Element by element, x being the tensor.

// Neg adds a Neg: -x.
func (t Tensor) Neg() Tensor { return t.apply("Neg", nil) }

// Abs adds an Abs: the absolute values.
func (t Tensor) Abs() Tensor { return t.apply("Abs", nil) }

// Sign adds a Sign: -1, 0 or 1 by the sign.
func (t Tensor) Sign() Tensor { return t.apply("Sign", nil) }

// Square adds a Square: x*x.
func (t Tensor) Square() Tensor { return t.apply("Square", nil) }

// Sqrt adds a Sqrt: the square roots.
func (t Tensor) Sqrt() Tensor { return t.apply("Sqrt", nil) }

// Rsqrt adds a Rsqrt: 1/sqrt(x).
func (t Tensor) Rsqrt() Tensor { return t.apply("Rsqrt", nil) }

// Exp adds an Exp: e to the power of x.
func (t Tensor) Exp() Tensor { return t.apply("Exp", nil) }

// Log adds a Log: the natural logarithms.
func (t Tensor) Log() Tensor { return t.apply("Log", nil) }

// Sin adds a Sin: the sines, of radians.
func (t Tensor) Sin() Tensor { return t.apply("Sin", nil) }

// Cos adds a Cos: the cosines, of radians.
func (t Tensor) Cos() Tensor { return t.apply("Cos", nil) }

// Tanh adds a Tanh: the hyperbolic tangents.
func (t Tensor) Tanh() Tensor { return t.apply("Tanh", nil) }

// Sigmoid adds a Sigmoid: 1/(1+exp(-x)).
func (t Tensor) Sigmoid() Tensor { return t.apply("Sigmoid", nil) }

// Relu adds a Relu: max(x, 0).
func (t Tensor) Relu() Tensor { return t.apply("Relu", nil) }

// Softmax adds a Softmax: exp(x) normalised to a sum of 1 along the last dimension.
func (t Tensor) Softmax() Tensor { return t.apply("Softmax", nil) }

// Floor adds a Floor: the greatest whole numbers that are not above x.
func (t Tensor) Floor() Tensor { return t.apply("Floor", nil) }

// Ceil adds a Ceil: the least whole numbers that are not below x.
func (t Tensor) Ceil() Tensor { return t.apply("Ceil", nil) }

// Round adds a Round: the nearest whole numbers, the even one of two.
func (t Tensor) Round() Tensor { return t.apply("Round", nil) }

// LogicalNot adds a LogicalNot: the opposites of bools.
func (t Tensor) LogicalNot() Tensor { return t.apply("LogicalNot", nil) }

// Add adds an AddV2: x + y.
func (t Tensor) Add(y any) Tensor { return t.binary("AddV2", y) }

// Sub adds a Sub: x - y.
func (t Tensor) Sub(y any) Tensor { return t.binary("Sub", y) }

// Mul adds a Mul: x * y, element by element.
func (t Tensor) Mul(y any) Tensor { return t.binary("Mul", y) }

// Div adds a RealDiv: x / y, of floating-point or complex numbers.
func (t Tensor) Div(y any) Tensor { return t.binary("RealDiv", y) }

// FloorDiv adds a FloorDiv: x / y rounded down.
func (t Tensor) FloorDiv(y any) Tensor { return t.binary("FloorDiv", y) }

// FloorMod adds a FloorMod: the rest of FloorDiv, with the sign of y.
func (t Tensor) FloorMod(y any) Tensor { return t.binary("FloorMod", y) }

// Pow adds a Pow: x to the power of y.
func (t Tensor) Pow(y any) Tensor { return t.binary("Pow", y) }

// Minimum adds a Minimum: the lesser of x and y.
func (t Tensor) Minimum(y any) Tensor { return t.binary("Minimum", y) }

// Maximum adds a Maximum: the greater of x and y.
func (t Tensor) Maximum(y any) Tensor { return t.binary("Maximum", y) }

// Equal adds an Equal: whether x == y.
func (t Tensor) Equal(y any) Tensor { return t.binary("Equal", y) }

// NotEqual adds a NotEqual: whether x != y.
func (t Tensor) NotEqual(y any) Tensor { return t.binary("NotEqual", y) }

// Less adds a Less: whether x < y.
func (t Tensor) Less(y any) Tensor { return t.binary("Less", y) }

// LessEqual adds a LessEqual: whether x <= y.
func (t Tensor) LessEqual(y any) Tensor { return t.binary("LessEqual", y) }

// Greater adds a Greater: whether x > y.
func (t Tensor) Greater(y any) Tensor { return t.binary("Greater", y) }

// GreaterEqual adds a GreaterEqual: whether x >= y.
func (t Tensor) GreaterEqual(y any) Tensor { return t.binary("GreaterEqual", y) }

// LogicalAnd adds a LogicalAnd: x and y, of bools.
func (t Tensor) LogicalAnd(y any) Tensor { return t.binary("LogicalAnd", y) }

// LogicalOr adds a LogicalOr: x or y, of bools.
func (t Tensor) LogicalOr(y any) Tensor { return t.binary("LogicalOr", y) }
