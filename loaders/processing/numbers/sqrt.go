package numbers

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// SqrtArgs are the arguments of a step of type sqrt, which has none.
type SqrtArgs struct{ decl.Object }

// Check returns a step that computes the square root.
func (*SqrtArgs) Check(c *processing.Context) processing.Step {
	if t, ok := c.Floats(); ok {
		return apply("Sqrt", t)
	}
	return nil
}
