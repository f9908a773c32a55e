package text

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// LowerArgs are the arguments of a step of type lower, which has none.
type LowerArgs struct{ decl.Object }

// Check returns a step that makes letters small, A to Z.
func (*LowerArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if !ok {
		return nil
	}
	return processing.Map{To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("StringLower", map[string]any{"encoding": ""}, x)
	}}
}
