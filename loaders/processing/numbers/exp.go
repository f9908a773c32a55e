package numbers

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// ExpArgs are the arguments of a step of type exp, which has none.
type ExpArgs struct{ decl.Object }

// Check returns a step that computes e to the power of x.
func (*ExpArgs) Check(c *processing.Context) processing.Step {
	if t, ok := c.Floats(); ok {
		return single("Exp", t)
	}
	return nil
}
