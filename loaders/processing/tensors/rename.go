package tensors

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RenameArgs are the arguments of a step of type rename, which has none.
type RenameArgs struct{ decl.Object }

// Check returns the step.
func (a *RenameArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Input()
	if !ok {
		return nil
	}
	return processing.Map{To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output { return b.Op1("Identity", nil, x) }}
}
