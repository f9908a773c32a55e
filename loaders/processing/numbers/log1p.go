package numbers

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// Log1pArgs are the arguments of a step of type log1p, which has none.
type Log1pArgs struct{ decl.Object }

// Check returns a step that computes log(1 + x).
func (*Log1pArgs) Check(c *processing.Context) processing.Step {
	if t, ok := c.Floats(); ok {
		return single("Log1p", t)
	}
	return nil
}
