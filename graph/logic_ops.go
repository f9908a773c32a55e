package graph

import (
	"millrace/tfbridge"
)

// Equal adds an Equal, element by element.
func Equal(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("Equal", nil, x, y)
}

// NotEqual adds a NotEqual, element by element.
func NotEqual(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("NotEqual", nil, x, y)
}

// Less adds a Less, element by element.
func Less(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("Less", nil, x, y)
}

// LessEqual adds a LessEqual, element by element.
func LessEqual(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("LessEqual", nil, x, y)
}

// Greater adds a Greater, element by element.
func Greater(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("Greater", nil, x, y)
}

// GreaterEqual adds a GreaterEqual, element by element.
func GreaterEqual(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("GreaterEqual", nil, x, y)
}

// LogicalAnd adds a LogicalAnd.
func LogicalAnd(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("LogicalAnd", nil, x, y)
}

// LogicalOr adds a LogicalOr.
func LogicalOr(s *Scope, x, y tfbridge.Output) tfbridge.Output {
	return s.Op1("LogicalOr", nil, x, y)
}

// LogicalNot adds a LogicalNot.
func LogicalNot(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("LogicalNot", nil, x)
}

// IsFinite adds an IsFinite: neither NaN nor infinite. It takes floating-point
// types alone.
func IsFinite(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("IsFinite", nil, x)
}

// All adds an All along axes, a vector or scalar of int32 or int64.
func All(s *Scope, x, axes tfbridge.Output) tfbridge.Output {
	return s.Op1("All", nil, x, axes)
}

// ReduceAll adds an All along all axes: one bool.
func ReduceAll(s *Scope, x tfbridge.Output) tfbridge.Output {
	return All(s, x, axesOf(s, x))
}

// Any adds an Any along axes, a vector or scalar of int32 or int64.
func Any(s *Scope, x, axes tfbridge.Output) tfbridge.Output {
	return s.Op1("Any", nil, x, axes)
}

// ReduceAny adds an Any along all axes: one bool.
func ReduceAny(s *Scope, x tfbridge.Output) tfbridge.Output {
	return Any(s, x, axesOf(s, x))
}

// Select adds a SelectV2: the elements of yes where cond holds, else those of
// no. The three are broadcast to one shape.
func Select(s *Scope, cond, yes, no tfbridge.Output) tfbridge.Output {
	return s.Op1("SelectV2", nil, cond, yes, no)
}

// Where adds a Where: the coordinates of the elements that are not zero, one
// row each.
func Where(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("Where", nil, x)
}
