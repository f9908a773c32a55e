package numbers

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// AbsArgs are the arguments of a step of type abs, which has none.
type AbsArgs struct{ decl.Object }

// Check returns a step that computes the absolute value.
func (*AbsArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Numbers()
	switch {
	case !ok:
		return nil
	case processing.KindOf(t.DType) == processing.UnsignedKind:
		return apply("Identity", t) // TensorFlow's Abs has no kernels for them
	}
	return apply("Abs", t)
}
